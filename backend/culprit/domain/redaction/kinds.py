"""Types of redaction: kinds, rules and locations of matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

KINDS = ("secret", "email", "word", "path", "argument", "sql", "host", "user", "address", "symbol")
"""Kinds in descending priority: overlapping matches are merged under the kind with the higher priority."""

ALL_KINDS = frozenset(KINDS)
PRESETS: Mapping[str, frozenset[str]] = {
    "internal": frozenset({"secret", "word"}),
    "customer": ALL_KINDS - {"symbol"},
}
"""internal: hides secrets and keeps host names. customer: also hides all names of hosts and people."""

NAMES: Mapping[str, str] = {
    "secret": "secret",
    "email": "mail",
    "word": "name",
    "path": "path",
    "argument": "argument",
    "sql": "literal",
    "host": "host",
    "user": "user",
    "address": "address",
    "symbol": "function",
}
"""Prefix of the pseudonyms of each kind, as in host-3."""


class TextSpan(NamedTuple):
    """Part of a text that must be replaced."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class RedactionRules:
    """The kinds to replace, and the names known to Culprit."""

    kinds: frozenset[str] = ALL_KINDS
    hosts: frozenset[str] = field(default_factory=frozenset)
    users: frozenset[str] = field(default_factory=frozenset)
    words: frozenset[str] = field(default_factory=frozenset)
