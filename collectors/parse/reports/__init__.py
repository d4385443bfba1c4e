"""Parsers of reports that other programs wrote."""
