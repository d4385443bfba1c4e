"""Outgoing HTTP and mail, and the check of addresses against the network allow-list."""
