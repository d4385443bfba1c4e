"""The timeline of a host: tracks over all its captures on one clock."""
