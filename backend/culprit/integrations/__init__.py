"""Read-only feeds for other systems: rule values for Prometheus, annotations for Grafana.

It may import `incidents` and every layer below.
"""
