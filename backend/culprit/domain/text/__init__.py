"""Mentions in comments, and text without control characters."""
