"""Charts of runs."""
