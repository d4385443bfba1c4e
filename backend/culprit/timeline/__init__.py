"""The timeline of a host: lanes over all its captures on one clock."""
