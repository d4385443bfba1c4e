"""Notifications through channels: signed webhooks, Slack-compatible services, email.

It may import `accounts`, `domain`, `infra` and `web`.
"""
