"""Kill switches: while one is active, nothing starts on its hosts."""
