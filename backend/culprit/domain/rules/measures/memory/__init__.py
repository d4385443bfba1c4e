"""Measures about memory."""
