"""Export an incident as a bundle."""
