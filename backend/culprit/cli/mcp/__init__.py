"""Read-only Model Context Protocol server over standard input and output: `culprit mcp`.

It is a client of the API, uses the token of a viewer and sends only GET requests.
"""
