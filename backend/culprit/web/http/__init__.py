"""Middleware and formats of HTTP: problem details, pagination, compression, limits of bodies and rates."""
