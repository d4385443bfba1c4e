"""Collectors of memory use, page faults and NUMA placement."""
