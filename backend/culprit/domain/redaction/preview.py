"""Preview of a redaction before anything is published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from culprit.domain.redaction.kinds import KINDS
from culprit.domain.redaction.redactor import Redactor

MAX_ROWS = 500


@dataclass(frozen=True, slots=True)
class ReplacedName:
    """Original, its kind and its pseudonym."""

    kind: str
    original: str
    pseudonym: str


@dataclass(frozen=True, slots=True)
class ChangedText:
    """Line before and after the redaction."""

    before: str
    after: str


def list_replaced(redactor: Redactor) -> list[ReplacedName]:
    """Return all replacements by kind, at most MAX_ROWS."""
    rows = [
        ReplacedName(kind, original, pseudonym)
        for kind in KINDS
        for original, pseudonym in redactor.names.get(kind, {}).items()
    ]
    return rows[:MAX_ROWS]


def list_changed(redactor: Redactor, lines: Iterable[str]) -> list[ChangedText]:
    """Return the changed lines, at most MAX_ROWS."""
    results = []
    for line in dict.fromkeys(lines):
        after = redactor.redact_text(line)
        if after != line:
            results.append(ChangedText(line, after))
            if len(results) == MAX_ROWS:
                break
    return results
