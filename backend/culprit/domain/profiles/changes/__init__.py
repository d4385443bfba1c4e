"""Changes between two profiles, and their statistical significance."""
