"""Users, sessions, tokens, authorization and the audit log.

It may import `domain`, `infra` and `web`.
"""
