"""Findings of runs, the catalog of rules and causes, and thresholds."""
