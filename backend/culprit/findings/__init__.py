"""What rules found: findings of runs, the catalogue of rules and causes, thresholds."""
