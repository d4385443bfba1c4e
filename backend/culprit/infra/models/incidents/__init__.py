"""Tables of incidents and the parts of their evidence chain."""
