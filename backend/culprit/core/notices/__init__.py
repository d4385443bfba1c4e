"""Messages about what was found, before they are told in a language, and their picture. Pure."""
