"""Playbooks as data: model, check, evaluation, and which changes to a chain are refused."""
