"""What knows no word of the domain."""
