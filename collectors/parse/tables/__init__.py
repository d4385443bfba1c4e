"""Parsers of text tables, and the tokens and rates that they share."""
