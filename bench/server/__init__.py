"""Benchmarks of the server: parsers, queries, stored data, schedules and viewers."""
