"""Collectors of interfaces, sockets, firewalls and network probes."""
