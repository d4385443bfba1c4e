"""A view of a profile as a file for other tools."""
