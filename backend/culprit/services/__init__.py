"""Services: labels that say where a service's requests, errors and latency are to be read."""
