"""Automatic captures: triggers, schedules, watchers and stages of a diagnosis; and the kill switch.

It may import `incidents` and every layer below.
"""
