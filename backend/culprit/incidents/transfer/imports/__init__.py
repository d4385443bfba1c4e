"""Import a bundle as an incident."""
