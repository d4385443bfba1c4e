"""Charts about services and their threads."""
