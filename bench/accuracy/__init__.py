"""How often conclusions are right: causes, playbooks and redaction."""
