"""Rules about the hardware."""
