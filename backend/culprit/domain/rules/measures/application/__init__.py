"""Measures about applications, databases and caches."""
