"""Hosts: their keys, credentials, the network allow-list, and preflight checks.

It may import `accounts`, `domain`, `infra` and `web`.
"""
