"""Rule values as Prometheus metrics."""
