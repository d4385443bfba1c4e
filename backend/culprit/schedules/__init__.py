"""Captures that are taken while nobody watches: when they are due, on which hosts, and when not."""
