"""Real software on a host of the lab: configured, started and stopped for one scenario."""
