"""What changed between two profiles, and which changes are more than chance."""
