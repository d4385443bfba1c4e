"""`./culprit test`: every check in order, a table of what it took, and one line that says how it went."""
