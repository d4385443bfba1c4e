"""Tables of channels, notifications, Grafana annotations and on-call rotations."""
