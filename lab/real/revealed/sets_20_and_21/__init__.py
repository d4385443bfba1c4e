"""The twentieth and twenty-first set: held out until they were played, before the rules changed."""
