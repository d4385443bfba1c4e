"""The sixth and seventh set: held out until they were played, before the rules changed."""
