"""Causes by family: each module has CAUSES, a tuple of `Cause`."""
