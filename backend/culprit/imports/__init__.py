"""Captures without SSH: files that somebody brings become runs like any other."""
