"""Reported events: deploys, configuration changes and notes that people and pipelines report."""
