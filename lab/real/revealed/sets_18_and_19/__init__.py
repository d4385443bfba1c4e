"""The eighteenth and nineteenth set: held out until they were played, before the rules changed."""
