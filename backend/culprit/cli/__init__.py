"""The command line: the HTTP API for people and scripts, and nothing of its own."""
