"""Stored data of captures and data derived from it: runs, timeline, profiles, charts, context, events, retention.

It may import `accounts`, `domain`, `infra` and `web`.
"""
