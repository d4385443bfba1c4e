"""The only doors outward: database, broker, SSH, artifact store."""
