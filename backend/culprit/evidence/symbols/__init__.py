"""Files that name the functions of recordings."""
