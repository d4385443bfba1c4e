"""HTTP conventions without a term of the domain. It imports no other package of the server."""
