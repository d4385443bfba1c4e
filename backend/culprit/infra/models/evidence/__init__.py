"""Tables of artifacts, series, events, profiles, result tables, host facts and reported events."""
