"""Parse, authenticate and interpret alerts of other systems. Pure functions."""
