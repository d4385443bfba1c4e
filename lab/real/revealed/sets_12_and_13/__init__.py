"""The twelfth and thirteenth set: held out until they were played, before the rules changed."""
