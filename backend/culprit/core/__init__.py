"""Pure: data in, data out; no clock and no I/O."""
