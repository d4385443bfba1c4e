"""Readers of formats that several collectors share."""
