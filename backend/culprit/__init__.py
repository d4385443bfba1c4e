"""Culprit: investigate Linux performance incidents."""

VERSION = "0.1.0"
