"""Triggers: an alert of another system opens an incident, with a capture and a diagnosis."""
