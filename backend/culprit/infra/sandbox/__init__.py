"""Processes without the rights of the server that parse untrusted files."""
