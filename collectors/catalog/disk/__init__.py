"""Collectors of block devices, file systems and file I/O."""
