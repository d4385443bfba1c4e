"""Confidence intervals and outliers."""
