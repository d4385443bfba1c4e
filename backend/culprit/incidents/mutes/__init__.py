"""Muted findings of hosts."""
