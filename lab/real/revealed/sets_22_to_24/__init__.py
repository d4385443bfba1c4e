"""The twenty-second to twenty-fourth set: held out until they were played, before the rules changed."""
