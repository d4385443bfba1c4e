"""Storage use, retention policies, the consistency check, and the citations that keep evidence."""
