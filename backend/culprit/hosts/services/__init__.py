"""Services: labels with the sources of requests, errors and latency."""
