"""Measures of databases and caches."""
