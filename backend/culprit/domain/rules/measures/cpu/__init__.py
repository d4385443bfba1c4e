"""Measures about CPU time and waiting for a CPU."""
