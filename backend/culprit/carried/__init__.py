"""Incidents that are carried from one Culprit to another, with all that they rest on."""
