"""What rules last said about one host, folded into the cells of the USE grid.

A host is known by its newest looks. A look that asked little (a stage of a diagnosis) does not take back what the one
before it said: each rule counts with its newest word, and that has the age of its own look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from culprit.core.rules.contract import Op, Severity
from culprit.core.rules.use import PLACES, Place

State = Literal["fired", "inconclusive", "quiet"]
SEVERITIES: tuple[Severity, ...] = ("info", "warn", "critical")
_STATES: tuple[State, ...] = ("quiet", "inconclusive", "fired")
_UP = (">", ">=", "==", "!=")


@dataclass(frozen=True, slots=True)
class Word:
    """What one rule said in one look; `look` counts from 0, the newest.

    `value` and `threshold` are those of the worst subject, None where nothing was there to be measured; `subjects`
    counts those that it fired for.
    """

    rule: str
    state: State
    severity: Severity
    op: Op
    look: int
    value: float | None = None
    threshold: float | None = None
    subject: Mapping[str, str] = field(default_factory=dict)
    subjects: int = 0

    @property
    def closeness(self) -> float:
        """How near the number is to its threshold: 1 is at it, more is beyond."""
        if self.value is None or self.threshold is None:
            return 0.0
        if self.op not in _UP:
            return self.threshold / self.value if self.value > 0 else 0.0
        return self.value / self.threshold if self.threshold > 0 else 0.0

    @property
    def rank(self) -> tuple[int, int, float]:
        """The worst word is the greatest: what fired by severity, then what is not sure, then the nearest to firing.

        A number beyond its threshold whose other conditions did not hold is no good picture of a quiet cell: last.
        """
        near = self.closeness
        if self.state == "quiet" and near >= 1:
            near = -1.0
        severity = SEVERITIES.index(self.severity) if self.state == "fired" else 0
        return _STATES.index(self.state), severity, near


@dataclass(frozen=True, slots=True)
class Cell:
    """One resource and letter of a host: its worst word, how many rules spoke, and how many of them fired."""

    word: Word
    said: int
    fired: int


def cells(words: Mapping[str, Word]) -> dict[Place, Cell]:
    """The cells that somebody looked at; rules without a place are in none."""
    spoke: dict[Place, list[Word]] = {}
    for rule, word in words.items():
        place = PLACES.get(rule)
        if place is not None:
            spoke.setdefault(place, []).append(word)
    return {
        place: Cell(max(each, key=lambda one: one.rank), len(each), sum(one.state == "fired" for one in each))
        for place, each in spoke.items()
    }


def worst(words: Iterable[Word]) -> Severity | None:
    """The severity of the worst that fired."""
    fired = [SEVERITIES.index(one.severity) for one in words if one.state == "fired"]
    return SEVERITIES[max(fired)] if fired else None
