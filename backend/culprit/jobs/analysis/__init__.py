"""Jobs that evaluate the rules on a run and advance a diagnosis."""
