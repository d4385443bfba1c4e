"""Charts about the network."""
