"""Annotations for Grafana, as JSON that Grafana fetches and as rows that a job sends."""
