"""Collectors of one application: logs, metrics, runtimes and system calls."""
