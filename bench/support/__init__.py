"""Shared code of benchmarks: a platform for one measurement, and captures of this host."""
