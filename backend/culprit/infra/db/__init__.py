"""Triggers: what other systems alert becomes an incident with a capture and a diagnosis."""
