"""Kinds of imported files, and typical ranges from earlier days."""
