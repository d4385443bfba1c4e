"""How fast screens are in a real browser."""
