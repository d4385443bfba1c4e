"""Parsers of /proc, /sys and control group files."""
