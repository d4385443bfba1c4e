"""Scheduled captures: when they are due, on which hosts, and maintenance windows without them."""
