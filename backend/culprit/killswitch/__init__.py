"""Kill switches: nothing starts where one is pulled."""
