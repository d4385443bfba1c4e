"""What captures stored, and what is derived from it: runs, timeline, profiles, charts, context, events, retention.

It may import `accounts`, `domain`, `infra` and `web`.
"""
