"""A view straight from what parsers made of artifacts, without a database: for tests of rules and for re-reading."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Event, Parsed, Series, Table
from culprit.core.rules.contract import Citation
from culprit.core.rules.view import Happening, Lane, Outcome, Row, Stacks, View
from culprit.core.stacks import Profile


def view_of(
    parsed: Mapping[str, Parsed],
    *,
    profiles: Mapping[str, Profile] | None = None,
    facts: Mapping[str, object] | None = None,
    baseline: View | None = None,
    seconds: float = 30.0,
) -> View:
    """The view of collectors by id. `profiles` by kind; `facts` are added to those that the parsers found."""
    lanes: list[Lane] = []
    tables: dict[str, list[Row]] = {}
    events: list[Happening] = []
    known: dict[str, object] = {}
    for collector, one in parsed.items():
        lanes += [_lane(collector, series) for series in one.series]
        for table in one.tables:
            tables.setdefault(table.kind, []).extend(_rows(collector, table))
        events += [_event(collector, event) for event in one.events]
        known |= one.facts if collector == "host_facts" else {collector: one.facts} if one.facts else {}
    stacks = {
        kind: Stacks(
            kind,
            profile,
            Citation("", kind, kind, "", profile=kind),
            profile.table.quality.lost,
            profile.table.quality.unknown_share,
        )
        for kind, profile in (profiles or {}).items()
    }
    outcomes = {
        name: Outcome(name, "done" if one.readable else "unreadable", seconds=seconds)
        for name, one in parsed.items()
    }
    known |= dict(facts or {})
    return View(outcomes, lanes, tables, events, known, stacks, seconds=seconds, baseline=baseline)


def _lane(collector: str, one: Series) -> Lane:
    lines = None if one.lines is None else [int(line) for line in one.lines]
    cite = Citation("", collector, collector, one.part)
    return Lane(one.metric, one.labels, one.axis, one.axis_values, one.t_ns, one.values, lines, cite)


def _rows(collector: str, table: Table) -> list[Row]:
    names = [column.id for column in table.columns]
    lines = table.lines if len(table.lines) == len(table.rows) else (0,) * len(table.rows)
    return [
        Row(
            dict(zip(names, cells, strict=True)),
            Citation("", collector, collector, table.part, (line,) if line else ()),
        )
        for cells, line in zip(table.rows, lines, strict=True)
    ]


def _event(collector: str, one: Event) -> Happening:
    cite = Citation("", collector, collector, one.part, (one.line,) if one.line else ())
    return Happening(one.kind, one.t_ns, one.severity, one.title.params, one.detail, cite)
