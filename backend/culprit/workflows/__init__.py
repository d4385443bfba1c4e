"""What ties nouns together: each workflow is one task, may run twice, and takes ids."""
