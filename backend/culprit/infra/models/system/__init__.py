"""Tables of heartbeats, retention, deletions and storage checks."""
