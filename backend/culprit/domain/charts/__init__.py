"""Charts of the results of a run. A builder makes each one from a view, and every number cites its source line."""
