"""Schemas and builders of the API responses about incidents."""
