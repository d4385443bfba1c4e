"""States, retries and timeouts of runs."""
