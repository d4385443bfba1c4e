"""A read-only server of the Model Context Protocol over standard input and output: `culprit mcp`.

It is a client of the API like every command, with the token of a viewer, and asks by GET alone.
"""
