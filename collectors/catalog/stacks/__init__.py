"""Collectors of stacks at events of the kernel, from which the server computes a profile."""
