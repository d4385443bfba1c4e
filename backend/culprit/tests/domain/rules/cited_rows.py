"""What a view holds if all rows that a number does not cite are left out, and whether they give the same number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Number
from culprit.domain.rules.readings import take_reading
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.rule import RuleInput
from culprit.domain.rules.view import HostView, TableRow

Cited = Mapping[tuple[str, str], set[int] | None]
"""Cited lines by collector and part; None if a citation without lines names the complete part."""


def collect_cited(citations: Iterable[Citation]) -> Cited:
    result: dict[tuple[str, str], set[int] | None] = {}
    for citation in citations:
        key = (citation.collector, citation.part)
        if not citation.lines:
            result[key] = None
        elif (known := result.setdefault(key, set())) is not None:
            known.update(citation.lines)
    return result


def is_kept(cited: Cited, citation: Citation, lines: Sequence[int]) -> list[bool]:
    """Return which rows of a place are cited; a row without a line cannot be cited alone."""
    kept = cited.get((citation.collector, citation.part), set())
    return [kept is None or line == 0 or line in kept for line in lines]


def keep_cited(seen: HostView, cited: Cited) -> HostView:
    """Return the view without every row that is not cited."""
    series_list = []
    for series in seen.series:
        if series.lines is None:
            series_list.append(series)
            continue
        mask = np.array(is_kept(cited, series.citation, series.lines), bool)
        lines = [line for line, kept in zip(series.lines, mask, strict=True) if kept]
        if mask.any():
            series_list.append(
                replace(series, t_ns=series.t_ns[mask], values=series.values[mask], lines=lines)
            )
    tables: dict[str, list[TableRow]] = defaultdict(list)
    for kind, rows in seen.tables.items():
        tables[kind] = [row for row in rows if is_kept(cited, row.citation, row.citation.lines or (0,))[0]]
    events = [each for each in seen.events if is_kept(cited, each.citation, each.citation.lines or (0,))[0]]
    return replace(seen, series=series_list, tables=dict(tables), events=events)


def list_inputs() -> dict[str, RuleInput]:
    return {read.id: read for rule in RULES.values() for read in rule.inputs()}


INPUTS = list_inputs()


def find_again(seen: HostView, number: Number, subject) -> list[Measurement]:
    reading = take_reading(seen, INPUTS[number.measure])
    about = subject if number.subject is None else number.subject
    return [] if isinstance(reading, MissingData) else [item for item in reading if item.subject == about]


def is_repeated(reduced: HostView, number: Number, item: Measurement) -> bool:
    """Return whether the rows that a number cites give it again.

    The scope of a capture selects the groups that matter, with calls that no number cites. It decides which numbers
    are read, and not what they are, so the rows may also be read as those of a whole host.
    """
    whole = replace(reduced, facts={key: fact for key, fact in reduced.facts.items() if key != "target"})
    again = [*find_again(reduced, number, item.subject), *find_again(whole, number, item.subject)]
    return any(each.value == pytest.approx(item.value, rel=1e-9) for each in again)
