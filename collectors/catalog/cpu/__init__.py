"""Collectors of CPU time, scheduling and on-CPU or off-CPU stacks."""
