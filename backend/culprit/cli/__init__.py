"""Command-line client of the HTTP API. It imports no package that needs the libraries of the server."""
