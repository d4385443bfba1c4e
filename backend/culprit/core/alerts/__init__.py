"""What other systems send when something is wrong, and what it means here. Pure."""
