"""Processes of the platform: web server, workers, scheduler and bootstrap, with health checks and static files.

It may import every package except `cli` and `launcher`; no package imports it.
"""
