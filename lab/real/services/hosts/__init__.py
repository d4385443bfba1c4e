"""Hosts with several services of real software, their neighbors and their clients."""
