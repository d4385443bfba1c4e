"""The rows of the metric catalog, one file per domain."""
