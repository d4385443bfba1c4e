"""How often conclusions are right: causes, playbooks, verifications and redaction."""
