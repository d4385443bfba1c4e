"""Load on the machine of the platform, for a first capture."""
