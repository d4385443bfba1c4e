"""One module per collector; each defines `COLLECTOR`."""
