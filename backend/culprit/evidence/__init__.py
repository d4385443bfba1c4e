"""What came home from a run, and what was read out of it."""
