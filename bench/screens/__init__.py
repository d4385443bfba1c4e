"""Benchmarks of pages in a real browser."""
