"""Shell fragments that collectors share."""
