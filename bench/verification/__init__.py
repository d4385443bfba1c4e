"""Benchmarks of verifications: simulated pairs, captures of a service of our own, and real software."""
