"""Parsers of sockets, devices, firewall rules and probes."""
