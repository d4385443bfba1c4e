"""Faults that are played once, after all work on rules, and never used to improve them."""
