"""Hosts: enrolment, host keys, credentials, allow-list, preflight."""
