"""Facts, context and fleet views of hosts, and readings of watchers."""
