"""How measures are made: a table row into a `Measure`, and the two readings that most of them start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.readings import take_reading
from culprit.domain.rules.rule import Measure, RuleInput
from culprit.domain.rules.view import HostView

Needs = tuple[tuple[str, ...], ...]
Detail = dict[str, str | int | float]
"""What fills the sentence of a finding."""


def build_measure(  # noqa: PLR0917 - a table of measures reads better by position
    name: str, unit: str, en: str, zh: str, needs: Needs, read: Callable[[HostView], Sequence[Measurement]]
) -> Measure:
    """A measure, its title in both languages."""
    return Measure(name, unit, Text(en, zh), needs, read)


def read_series(view: HostView, read: RuleInput) -> Sequence[Measurement]:
    """The numbers of a stored metric or of a measure, none where there are none."""
    reading = take_reading(view, read)
    return reading if isinstance(reading, Sequence) else ()


def share_of(kind: str, pattern: str) -> Callable[[HostView], list[Measurement]]:
    """Reads the share of a profile of that kind that runs through frames matching the pattern (RE2)."""

    def read(view: HostView) -> list[Measurement]:
        stacks = view.stacks.get(kind)
        return [stacks.share(pattern)] if stacks is not None else []

    return read
