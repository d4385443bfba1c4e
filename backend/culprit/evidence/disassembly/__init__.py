"""Instructions of single functions, with the samples of each."""
