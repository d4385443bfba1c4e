"""Tables of hosts, credentials, the network allow-list, preflight checks and services."""
