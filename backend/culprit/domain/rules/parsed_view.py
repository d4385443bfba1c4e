"""Build a view from parser results, without a database, for tests of rules."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Event, Parsed, Series, Table
from culprit.domain.profiles.stacks import StackProfile
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import CollectorOutcome, HostEvent, HostView, Stacks, TableRow, ViewSeries


def build_view(
    parsed: Mapping[str, Parsed],
    *,
    profiles: Mapping[str, StackProfile] | None = None,
    facts: Mapping[str, object] | None = None,
    baseline: HostView | None = None,
    seconds: float = 30.0,
) -> HostView:
    """Build a view from collectors by ID. `profiles` are by kind; `facts` are added to the parsed ones."""
    series_list: list[ViewSeries] = []
    tables: dict[str, list[TableRow]] = {}
    events: list[HostEvent] = []
    known: dict[str, object] = {}
    for collector, item in parsed.items():
        series_list += [_build_series(collector, series) for series in item.series]
        for table in item.tables:
            tables.setdefault(table.kind, []).extend(_rows(collector, table))
        events += [_event(collector, event) for event in item.events]
        known |= item.facts if collector == "host_facts" else {collector: item.facts} if item.facts else {}
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
        name: CollectorOutcome(name, "done" if item.readable else "unreadable", seconds=seconds)
        for name, item in parsed.items()
    }
    known |= dict(facts or {})
    return HostView(outcomes, series_list, tables, events, known, stacks, seconds=seconds, baseline=baseline)


def _build_series(collector: str, series: Series) -> ViewSeries:
    lines = None if series.lines is None else [int(line) for line in series.lines]
    citation = Citation("", collector, collector, series.part)
    return ViewSeries(
        series.metric,
        series.labels,
        series.axis,
        series.axis_values,
        series.t_ns,
        series.values,
        lines,
        citation,
    )


def _rows(collector: str, table: Table) -> list[TableRow]:
    names = [column.id for column in table.columns]
    lines = table.lines if len(table.lines) == len(table.rows) else (0,) * len(table.rows)
    return [
        TableRow(
            dict(zip(names, cells, strict=True)),
            Citation("", collector, collector, table.part, (line,) if line else ()),
        )
        for cells, line in zip(table.rows, lines, strict=True)
    ]


def _event(collector: str, event: Event) -> HostEvent:
    citation = Citation("", collector, collector, event.part, (event.line,) if event.line else ())
    return HostEvent(event.kind, event.t_ns, event.severity, event.title.params, event.detail, citation)
