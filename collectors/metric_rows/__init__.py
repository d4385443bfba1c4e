"""The rows of the metric catalogue, one file per domain."""
