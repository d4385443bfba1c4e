"""Jobs that record findings in the journal, advance the autopilot, and compare imported incidents."""
