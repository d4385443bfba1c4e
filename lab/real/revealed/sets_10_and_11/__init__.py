"""The tenth and eleventh set: held out until they were played, before the rules changed."""
