"""Map the clocks of a host to UTC, with an uncertainty."""
