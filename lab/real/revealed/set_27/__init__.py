"""The twenty-seventh set: held out until it was played, before the rules changed."""
