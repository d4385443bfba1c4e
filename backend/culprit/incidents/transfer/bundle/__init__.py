"""The format of exported incidents, and its validation."""
