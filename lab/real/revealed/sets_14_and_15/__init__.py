"""The fourteenth and fifteenth set: held out until they were played, before the rules changed."""
