"""Captures without SSH: imported files become runs."""
