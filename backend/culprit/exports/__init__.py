"""What other systems fetch from here, read-only: rule values for Prometheus, annotations for Grafana."""
