"""Measures about the hardware."""
