"""Hosts of small companies with several services."""
