"""The twenty-fifth and twenty-sixth set: held out until they were played, before the rules changed."""
