"""Host context, fact changes and the call graph of a run."""
