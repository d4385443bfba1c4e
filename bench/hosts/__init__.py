"""Benchmarks of the cost and latency of captures, watchers and automation on a host."""
