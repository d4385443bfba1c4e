"""Measures that take more than one metric, by subject and family; rules import them by name."""
