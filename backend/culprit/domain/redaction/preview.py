"""What a redaction would replace, to be looked at before anything leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from culprit.core.redaction.kinds import KINDS
from culprit.core.redaction.redactor import Redactor

MOST = 500


@dataclass(frozen=True, slots=True)
class Replaced:
    """One original, its kind, and what stands for it."""

    kind: str
    original: str
    pseudonym: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A line before and after."""

    before: str
    after: str


def replaced(redactor: Redactor) -> list[Replaced]:
    """All that was replaced so far, by kind; at most MOST."""
    rows = [
        Replaced(kind, original, pseudonym)
        for kind in KINDS
        for original, pseudonym in redactor.names.get(kind, {}).items()
    ]
    return rows[:MOST]


def changed(redactor: Redactor, lines: Iterable[str]) -> list[Changed]:
    """The lines that would be other ones; at most MOST."""
    found = []
    for line in dict.fromkeys(lines):
        after = redactor.text(line)
        if after != line:
            found.append(Changed(line, after))
            if len(found) == MOST:
                break
    return found
