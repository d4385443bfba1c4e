"""How measures are made: a table row into a `Measure`, and the two readings that most of them start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from collectors.contract import Text
from culprit.core.rules.contract import Measure, Measured, Read
from culprit.core.rules.read import take
from culprit.core.rules.view import View

Needs = tuple[tuple[str, ...], ...]
Detail = dict[str, str | int | float]
"""What fills the sentence of a finding."""


def derived(  # noqa: PLR0917 - a table of measures reads better by position
    name: str, unit: str, en: str, zh: str, needs: Needs, read: Callable[[View], Sequence[Measured]]
) -> Measure:
    """A measure, its title in both languages."""
    return Measure(name, unit, Text(en, zh), needs, read)


def series(view: View, read: Read) -> Sequence[Measured]:
    """The numbers of a stored metric or of a measure, none where there are none."""
    found = take(view, read)
    return found if isinstance(found, Sequence) else ()


def share_of(kind: str, pattern: str) -> Callable[[View], list[Measured]]:
    """Reads the share of a profile of that kind that runs through frames matching the pattern (RE2)."""

    def read(view: View) -> list[Measured]:
        stacks = view.stacks.get(kind)
        return [stacks.share(pattern)] if stacks is not None else []

    return read
