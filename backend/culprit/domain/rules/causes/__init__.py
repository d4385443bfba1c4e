"""Causes, one module per family. Each module has CAUSES, a tuple of `Cause`."""
