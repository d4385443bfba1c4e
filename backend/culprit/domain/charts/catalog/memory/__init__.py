"""Charts about memory."""
