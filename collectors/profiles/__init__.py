"""Samples and stacks as columns in one file."""
