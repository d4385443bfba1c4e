"""Start, watch, restart and stop processes."""
