"""Measures that take more than one metric, by family; rules import them by name."""
