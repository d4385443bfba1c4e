"""Measures about disks and file systems."""
