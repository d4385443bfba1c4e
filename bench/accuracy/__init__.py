"""Benchmarks of accuracy: causes, playbooks and redaction."""
