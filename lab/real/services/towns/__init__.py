"""Hosts of a town: companies whose services stand on volumes, links and control groups of their own."""
