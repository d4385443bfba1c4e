"""The sixteenth and seventeenth set: held out until they were played, before the rules changed."""
