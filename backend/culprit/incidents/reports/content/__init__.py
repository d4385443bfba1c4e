"""Content of a report, with original names: evidence chain, fixes, and the sources of their numbers."""
