"""The second and third set: held out until they were played, before the rules changed."""
