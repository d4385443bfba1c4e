"""Formats of other systems: Prometheus metrics and Grafana annotations."""
