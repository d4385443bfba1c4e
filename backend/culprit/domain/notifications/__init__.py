"""Messages about diagnoses and incidents, before translation, and their chart. Pure functions."""
