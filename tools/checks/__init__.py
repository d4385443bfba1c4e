"""`./culprit test`: every check in order, a table of durations, and a line with the result."""
