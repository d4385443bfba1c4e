"""Calls between processes: who owns an address, and how response time is split."""
