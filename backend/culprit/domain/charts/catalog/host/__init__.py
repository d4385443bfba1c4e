"""Charts about the whole host: the USE grid and the comparison with peers."""
