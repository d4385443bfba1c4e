"""Charts about CPUs and their scheduling."""
