"""Measures about the network."""
