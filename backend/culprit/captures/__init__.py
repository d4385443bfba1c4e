"""Captures: one plan on one or more hosts, and what becomes of it."""
