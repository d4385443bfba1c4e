"""Pictures of what came home: each is built from a view, and every number in it cites the line it was read from."""
