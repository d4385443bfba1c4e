"""The fleet: what rules last said of every host, and which host is unlike its peers."""
