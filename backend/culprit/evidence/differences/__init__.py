"""What changed between two selections: time ranges of one host, or of two hosts."""
