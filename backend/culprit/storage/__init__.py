"""What is kept, for how long, where it lies, and what holds it."""
