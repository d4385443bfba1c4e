"""Conclusions from evidence: findings, diagnoses, playbooks and the fleet.

It may import `accounts`, `domain`, `infra` and `web`.
"""
