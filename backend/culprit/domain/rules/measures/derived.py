"""How measures are made: a table row into a `Measure`, and the two readings that most of them start from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.readings import take_reading
from culprit.domain.rules.rule import Measure, RuleInput
from culprit.domain.rules.view import HostView, TableRow

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


def merge_citations(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Return one citation for each part of an artifact, with all lines in order.

    A citation without lines names its complete part, and so does the merged one.
    """
    lines_by_place: dict[Citation, set[int] | None] = {}
    for citation in citations:
        place = replace(citation, lines=())
        if not citation.lines:
            lines_by_place[place] = None
        elif (lines := lines_by_place.setdefault(place, set())) is not None:
            lines.update(citation.lines)
    return tuple(replace(place, lines=tuple(sorted(lines or ()))) for place, lines in lines_by_place.items())


def cite_rows(*groups: Iterable[TableRow]) -> tuple[Citation, ...]:
    """Return the merged sources of all rows of some tables."""
    return merge_citations(row.citation for rows in groups for row in rows)
