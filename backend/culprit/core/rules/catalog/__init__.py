"""Rules by family: each module has RULES, a tuple of `Rule`."""
