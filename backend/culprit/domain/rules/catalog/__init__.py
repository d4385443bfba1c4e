"""Rules, by subject and family. Each module has RULES, a tuple of `Rule`."""
