"""The fourth and fifth set: held out until they were played, before the rules changed."""
