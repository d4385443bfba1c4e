"""What runs on hosts, and how its output is parsed. Pure: no network, no database, no clock of its own.

It imports nothing from the server.
"""
