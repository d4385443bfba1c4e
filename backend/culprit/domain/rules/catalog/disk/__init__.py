"""Rules about disks and file systems."""
