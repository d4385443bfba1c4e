"""The eighth and ninth set: held out until they were played, before the rules changed."""
