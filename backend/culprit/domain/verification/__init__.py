"""Judge a fix by captures from before and after it, on one host or many."""
