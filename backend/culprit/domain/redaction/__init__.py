"""Redaction: find confidential text in strings, structures and frame names; replace it by stable pseudonyms. Pure."""
