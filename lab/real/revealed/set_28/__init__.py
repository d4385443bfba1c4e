"""The twenty-eighth set: held out until it was played, before the rules changed."""
