"""The artifact store: immutable bytes by SHA-256, in a directory or in S3."""
