"""Faults that rules may be improved by."""
