"""Parse existing lists of hosts. Pure functions: names are not resolved and hosts are not contacted."""
