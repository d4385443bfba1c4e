"""Reports of incidents: written, frozen, redacted, approved, shared by link."""
