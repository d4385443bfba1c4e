"""Charts about disks."""
