"""Background jobs: one module per job. A job may run twice; its message carries IDs.

It may import `automation`, `integrations` and every layer below; only `server` imports it.
"""
