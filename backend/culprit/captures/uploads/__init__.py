"""Upload addresses: each accepts one bundle from a host that cannot be reached over SSH."""
