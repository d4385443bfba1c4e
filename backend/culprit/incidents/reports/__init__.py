"""Reports of incidents: drafts, frozen versions, redaction, approval and share links."""
