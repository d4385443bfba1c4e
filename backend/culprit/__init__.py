"""The Culprit server."""
