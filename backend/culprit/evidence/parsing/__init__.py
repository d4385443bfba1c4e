"""Parse the artifacts of a run in the sandbox."""
