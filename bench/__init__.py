"""Benchmarks, by subject. Each measures one promise and prints its table: `./culprit bench NAME`."""
