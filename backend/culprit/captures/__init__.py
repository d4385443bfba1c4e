"""Captures: one plan on one or more hosts.

It may import `accounts`, `domain`, `infra` and `web`.
"""
