"""Catalog of collectors, plans and metrics."""
