"""Load runs of a host as the view that rules, charts and the host context read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from collectors.contract import Sentence
from collectors.profiles.column_file import DamagedFileError
from collectors.runner import lookback, symbols
from culprit.domain.profiles import debug_files
from culprit.domain.rules.finding import Citation, Subject
from culprit.domain.rules.view import (
    STORED_STATES,
    CollectorOutcome,
    HostEvent,
    HostView,
    SchedulerEvents,
    Stacks,
    TableRow,
    ViewRequest,
    ViewSeries,
)
from culprit.domain.series import chunks
from culprit.domain.series.rollup import MEAN, SummaryRow, combine_rows
from culprit.evidence import view_queries
from culprit.evidence.profiles.file_cache import PROFILES, SCHEDULES
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.json_types import Json

WITH_OUTPUT = ("done", "timed_out")
#: Events up to this long before the capture count as current.
LOOK_BACK_NS = 15 * 60 * 1_000_000_000


def load_view(
    session: Session,
    store: ArtifactStore,
    runs: Sequence[UUID],
    scope: Subject = (),
    only: ViewRequest | None = None,
) -> HostView:
    """Return one view of several runs of one host; `runs` are in order of time.

    If several runs have a collector, its last result counts. If that result was limited to a scope, table rows of an
    earlier run about other processes are added. The target is that of the first run. `only` limits the data to read.
    """
    rows = view_queries.load_runs(session, runs)
    ordered = [rows[run] for run in runs if run in rows]
    owners, wider = _select_collectors(session, [run.id for run in ordered])
    cites = _load_citations(session, owners.values())
    facts: Json = {}
    for run in ordered:
        facts |= {
            name: fact for name, fact in (run.facts or {}).items() if name != "target" or run is ordered[0]
        }
    spans = [(run.t0_ns, run.t1_ns) for run in ordered if run.t0_ns is not None and run.t1_ns is not None]
    return HostView(
        outcomes={name: _build_outcome(row) for name, row in owners.items()},
        series=_load_series(session, cites, only),
        tables=_load_tables(session, cites, only, _load_citations(session, wider.values())),
        events=_load_events(session, cites, ordered, min((t0 for t0, _ in spans), default=0), only),
        facts=facts,
        stacks=_load_stacks(session, store, cites, only),
        scope=scope,
        seconds=max(((t1 - t0) / 1e9 for t0, t1 in spans), default=0.0),
        span_ns=(min(t0 for t0, _ in spans), max(t1 for _, t1 in spans)) if spans else None,
        capture_cpu_cores=_compute_own_cost(ordered),
        sched=_load_schedule(session, store, cites) if only is not None and "sched" in only.stacks else None,
    )


def load_peer_values(
    session: Session, runs: Mapping[UUID, str], metrics: Collection[str]
) -> dict[str, HostView]:
    """Return the series of these metrics of many runs, by the name given for each run."""
    rows = view_queries.list_collectors(session, runs, STORED_STATES)
    series_list: dict[str, list[ViewSeries]] = {str(run): [] for run in runs}
    for series in _load_series(
        session, _load_citations(session, rows), ViewRequest(metrics=frozenset(metrics))
    ):
        series_list[series.citation.run].append(series)
    outcomes: dict[UUID, dict[str, CollectorOutcome]] = {}
    for row in rows:
        outcomes.setdefault(row.run_id, {})[row.collector] = _build_outcome(row)
    return {name: HostView(outcomes.get(run, {}), series_list[str(run)]) for run, name in runs.items()}


def load_summary_view(
    session: Session, run: Run, tables: Collection[str], metrics: Collection[str] | None = ()
) -> HostView:
    """Return one run with its tables of these kinds and the means of these metrics (None: of all metrics).

    Each series has one row, read from the summaries of its chunks; no chunk is decoded.
    """
    cites = _load_citations(session, view_queries.list_collectors(session, [run.id]))
    return HostView(
        outcomes={row.collector: _build_outcome(row) for row in cites.collectors.values()},
        series=[] if metrics is not None and not metrics else _load_mean_series(session, run, cites, metrics),
        tables=_load_rows(session, cites, ViewRequest(tables=frozenset(tables))),
        facts=run.facts or {},
        span_ns=(run.t0_ns, run.t1_ns) if run.t0_ns is not None and run.t1_ns is not None else None,
    )


def _load_mean_series(
    session: Session, run: Run, cites: _CitationIndex, metrics: Collection[str] | None
) -> list[ViewSeries]:
    chunks_by_series: dict[tuple[str, str], list[Any]] = {}
    for chunk in view_queries.list_summaries(session, _list_measured(cites), metrics):
        chunks_by_series.setdefault((chunk.metric, repr(sorted(chunk.labels.items()))), []).append(chunk)
    series: list[ViewSeries] = []
    for pieces in chunks_by_series.values():
        first = pieces[0]
        total = combine_rows(
            [
                SummaryRow(tuple(piece.axis_values or ("",)), chunks.decode_summary(piece.summary))
                for piece in pieces
            ]
        )
        if total is None:
            continue
        owner = cites.collectors[first.run_collector_id]
        citation = Citation(str(run.id), owner.collector, str(first.artifact_id or ""), "")
        columns = total.columns if first.axis is not None else ()
        values = np.asarray(total.planes[MEAN], np.float64)[None, :]
        times = np.array([first.t0_ns], np.int64)
        series.append(
            ViewSeries(first.metric, first.labels, first.axis, columns, times, values, None, citation)
        )
    return series


class _CitationIndex:
    """Run collectors and their artifacts by ID, to build citations."""

    def __init__(self, collectors: Mapping[UUID, RunCollector], parts: Mapping[UUID, Artifact]) -> None:
        self.collectors = collectors
        self.parts = parts

    def citation(
        self, run_collector_id: UUID | None, artifact_id: UUID | None, lines: tuple[int, ...] = ()
    ) -> Citation:
        """Return the citation of lines in an artifact."""
        row = self.collectors.get(run_collector_id) if run_collector_id else None
        part = self.parts.get(artifact_id) if artifact_id else None
        return Citation(
            str(row.run_id) if row else "",
            row.collector if row else "",
            str(artifact_id or ""),
            part.part if part else "",
            lines,
        )


def _load_citations(session: Session, rows: Collection[RunCollector]) -> _CitationIndex:
    return _CitationIndex(
        {row.id: row for row in rows}, view_queries.load_artifacts(session, [row.id for row in rows])
    )


def _select_collectors(
    session: Session, runs: Sequence[UUID]
) -> tuple[dict[str, RunCollector], dict[str, RunCollector]]:
    """Return for each collector its last row with output, or its last row if none has output.

    If that row was limited to a scope, the second mapping has the last row with output of the whole host.
    """
    place = {run_id: at for at, run_id in enumerate(runs)}
    rows = view_queries.list_collectors_with_scope(session, runs)
    best: dict[str, tuple[RunCollector, bool]] = {}
    whole: dict[str, RunCollector] = {}
    for row, narrow in sorted(rows, key=lambda row: (row[0].state in WITH_OUTPUT, place[row[0].run_id])):
        best[row.collector] = row, narrow
        if row.state in WITH_OUTPUT and not narrow:
            whole[row.collector] = row
    wider = {name: whole[name] for name, (_, narrow) in best.items() if narrow and name in whole}
    return {name: row for name, (row, _) in best.items()}, wider


def _build_outcome(row: RunCollector) -> CollectorOutcome:
    reason = row.reason or {}
    seconds = (row.ended_ns - row.started_ns) / 1e9 if row.started_ns and row.ended_ns else 0.0
    sentence = Sentence(str(reason["key"]), reason.get("params") or {}) if reason.get("key") else None
    return CollectorOutcome(row.collector, row.state, str(row.run_id), sentence, seconds)


def _list_measured(cites: _CitationIndex) -> list[UUID]:
    """Return the run collectors that rules evaluate: all except symbols and the look-back buffer."""
    left_out = (lookback.ID, symbols.ID, debug_files.ID)
    return [collector.id for collector in cites.collectors.values() if collector.collector not in left_out]


def _load_series(session: Session, cites: _CitationIndex, only: ViewRequest | None) -> list[ViewSeries]:
    metrics = only.metrics if only is not None else None
    grouped: dict[tuple[str, str, UUID | None], list[SeriesChunk]] = {}
    for item in view_queries.list_chunks(session, _list_measured(cites), metrics):
        key = (item.metric, repr(sorted(item.labels.items())), item.run_collector_id)
        grouped.setdefault(key, []).append(item)
    return [
        series
        for pieces in grouped.values()
        for series in [_build_series(pieces, cites)]
        if series is not None
    ]


def _build_series(pieces: Sequence[SeriesChunk], cites: _CitationIndex) -> ViewSeries | None:
    """Join the chunks of one series in order of time, up to the first change of columns."""
    first = pieces[0]
    pieces = [piece for piece in pieces if piece.axis_values == first.axis_values]
    rows = [chunks.decode_rows(piece.data) for piece in pieces]
    lines: list[int] | None = None
    if all(piece.lines is not None for piece in pieces):
        lines = [int(line) for piece in pieces for line in chunks.decode_lines(piece.lines or b"")]
    values = np.concatenate([row.mean for row in rows])
    if not len(values):
        return None
    return ViewSeries(
        first.metric,
        first.labels,
        first.axis,
        tuple(first.axis_values or ()),
        np.concatenate([row.start_ns for row in rows]),
        values,
        lines,
        cites.citation(first.run_collector_id, first.artifact_id),
    )


def _load_tables(
    session: Session, cites: _CitationIndex, only: ViewRequest | None, wider: _CitationIndex
) -> dict[str, list[TableRow]]:
    """Return rows of tables by kind; rows of `wider` only for processes that the limited run does not have."""
    by_kind = _load_rows(session, cites, only)
    for kind, rows in (_load_rows(session, wider, only) if wider.collectors else {}).items():
        seen = {row.text("pid") for row in by_kind.get(kind, ())}
        by_kind.setdefault(kind, []).extend(row for row in rows if row.text("pid") not in seen | {""})
    return by_kind


def _load_rows(
    session: Session, cites: _CitationIndex, only: ViewRequest | None
) -> dict[str, list[TableRow]]:
    table_rows: dict[str, list[TableRow]] = {}
    kinds = only.tables if only is not None else None
    for table in view_queries.list_tables(session, cites.collectors, kinds):
        names = [str(column["id"]) for column in table.columns]
        lines = table.lines if len(table.lines) == len(table.rows) else [0] * len(table.rows)
        rows = table_rows.setdefault(table.kind, [])
        for cells, line in zip(table.rows, lines, strict=True):
            citation = cites.citation(table.run_collector_id, table.artifact_id, (int(line),) if line else ())
            rows.append(TableRow(dict(zip(names, cells, strict=False)), citation))
    return table_rows


def _load_events(
    session: Session, cites: _CitationIndex, runs: Sequence[Run], began_ns: int, only: ViewRequest | None
) -> list[HostEvent]:
    """Return events since shortly before the capture; an event that two runs read counts once."""
    owner_of = {part.id: part.run_collector_id for part in cites.parts.values()}
    kinds = only.events if only is not None else None
    events = view_queries.list_events(session, [run.id for run in runs], began_ns - LOOK_BACK_NS, kinds)
    host_events: dict[UUID | tuple[str, int, str], HostEvent] = {}
    for item in events:
        known = item.same_key is not None
        key = (item.repeats_id or item.id) if known else (item.kind, item.t_ns, item.detail)
        owner = owner_of.get(item.artifact_id) if item.artifact_id else None
        if key in host_events and owner is None:
            continue
        citation = cites.citation(owner, item.artifact_id, (item.line,) if item.line else ())
        params = dict(item.title.get("params") or {})
        host_events[key] = HostEvent(item.kind, item.t_ns, item.severity, params, item.detail, citation)
    return list(host_events.values())


def _load_stacks(
    session: Session, store: ArtifactStore, cites: _CitationIndex, only: ViewRequest | None
) -> dict[str, Stacks]:
    """Return the heaviest profile of each kind that is ready and can be opened."""
    kinds = only.stacks if only is not None else None
    stacks: dict[str, Stacks] = {}
    for item in view_queries.list_profiles(session, _list_measured(cites), kinds):
        if item.kind == "sched" or not item.store_key:
            continue
        try:
            profile = PROFILES.get(item.store_key, store.path)
        except (ArtifactMissingError, ArtifactAlteredError, DamagedFileError):
            continue
        stacks[item.kind] = Stacks(
            item.kind, profile, _cite_profile(item, cites), item.lost or 0, item.unknown_share or 0.0
        )
    return stacks


def _load_schedule(session: Session, store: ArtifactStore, cites: _CitationIndex) -> SchedulerEvents | None:
    """Return the scheduler events that are ready and can be opened, or None."""
    for item in view_queries.list_schedules(session, cites.collectors):
        if not item.store_key:
            continue
        try:
            table = SCHEDULES.get(item.store_key, store.path)
        except (ArtifactMissingError, ArtifactAlteredError, DamagedFileError, FileNotFoundError):
            continue
        # Waits cite the scheduler events, not a flame graph.
        return SchedulerEvents(table, replace(_cite_profile(item, cites), profile=""))
    return None


def _cite_profile(profile: Profile, cites: _CitationIndex) -> Citation:
    """Return the citation of a profile and the artifact that it was built from."""
    source = profile.source or {}
    artifact = (source.get("artifacts") or {}).get(source.get("part"))
    base = cites.citation(profile.run_collector_id, UUID(artifact) if artifact else None)
    return Citation(base.run, base.collector, base.artifact, base.part, (), str(profile.id))


def _compute_own_cost(runs: Sequence[Run]) -> float | None:
    """Return the highest CPU use of the captures themselves, in cores."""
    costs = [
        run.host_cpu_ms / 1e3 / ((run.t1_ns - run.t0_ns) / 1e9)
        for run in runs
        if run.host_cpu_ms is not None and run.t0_ns and run.t1_ns and run.t1_ns > run.t0_ns
    ]
    return max(costs, default=None)
