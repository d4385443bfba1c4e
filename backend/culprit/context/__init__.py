"""What surrounds a run: the machine that it was on, and whom its processes call."""
