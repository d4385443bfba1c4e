"""Runs, their artifacts, and what was parsed from them."""
