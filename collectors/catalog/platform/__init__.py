"""Collectors of the host itself: hardware, kernel, limits and recorded history."""
