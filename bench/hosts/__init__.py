"""What captures, watchers and automation cost on a host, and how fast they react."""
