"""Incidents: what is being investigated, on what evidence, and how it ended."""
