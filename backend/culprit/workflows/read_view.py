"""What came home from one or more runs of a host, as the view that rules read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from collectors import look_back
from collectors.columns import DamagedFile
from collectors.contract import Sentence
from culprit.core import chunks
from culprit.core.rules.contract import Citation, Subject
from culprit.core.rules.view import HOME, Happening, Lane, Outcome, Reads, Row, Scheduled, Stacks, View
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore
from culprit.models import Artifact, Capture, Event, Profile, ResultTable, Run, RunCollector, SeriesChunk
from culprit.profiles.loaded import PROFILES, SCHEDS

CAME = ("done", "timed_out")
MAX_CHUNKS = 20_000
MAX_EVENTS = 2_000
#: Events from before the capture count as what the host is doing now for this long.
LOOK_BACK_NS = 15 * 60 * 1_000_000_000
Json = dict[str, Any]


def read_view(
    session: Session,
    store: ArtifactStore,
    runs: Sequence[UUID],
    scope: Subject = (),
    only: Reads | None = None,
) -> View:
    """One view of runs of one host, the earliest first; of a collector that several hold, the last one counts.

    Where the last one looked at less than an earlier one, the earlier rows about other processes still stand.
    With `only`, nothing else is read of what these runs hold.
    """
    rows = {run.id: run for run in session.scalars(select(Run).where(Run.id.in_(runs)))}
    ordered = [rows[one] for one in runs if one in rows]
    owners, wider = _owners(session, [run.id for run in ordered])
    cites = _cites(session, owners.values())
    facts: Json = {}
    for run in ordered:
        facts |= run.facts or {}
    spans = [(run.t0_ns, run.t1_ns) for run in ordered if run.t0_ns is not None and run.t1_ns is not None]
    return View(
        outcomes={name: _outcome(row) for name, row in owners.items()},
        lanes=_lanes(session, cites, only),
        tables=_tables(session, cites, only, _cites(session, wider.values())),
        events=_events(session, cites, ordered, min((t0 for t0, _ in spans), default=0), only),
        facts=facts,
        stacks=_stacks(session, store, cites, only),
        scope=scope,
        seconds=max(((t1 - t0) / 1e9 for t0, t1 in spans), default=0.0),
        span_ns=(min(t0 for t0, _ in spans), max(t1 for _, t1 in spans)) if spans else None,
        capture_cpu_cores=_own_cost(ordered),
        sched=_sched(session, store, cites) if only is not None and "sched" in only.stacks else None,
    )


def read_peers(session: Session, runs: Mapping[UUID, str], metrics: Collection[str]) -> dict[str, View]:
    """The series of these metrics of many runs at once, by the names that are given for the runs."""
    home = select(RunCollector).where(RunCollector.run_id.in_(runs), RunCollector.state.in_(HOME))
    rows = session.scalars(home).all()
    lanes: dict[str, list[Lane]] = {str(run): [] for run in runs}
    for lane in _lanes(session, _cites(session, rows), Reads(metrics=frozenset(metrics))):
        lanes[lane.cite.run].append(lane)
    outcomes: dict[UUID, dict[str, Outcome]] = {}
    for row in rows:
        outcomes.setdefault(row.run_id, {})[row.collector] = _outcome(row)
    return {name: View(outcomes.get(run, {}), lanes[str(run)]) for run, name in runs.items()}


class _Cites:
    """Finds the citation of whatever a run collector left."""

    def __init__(self, collectors: Mapping[UUID, RunCollector], parts: Mapping[UUID, Artifact]) -> None:
        self.collectors = collectors
        self.parts = parts

    def of(
        self, run_collector_id: UUID | None, artifact_id: UUID | None, lines: tuple[int, ...] = ()
    ) -> Citation:
        """A place in the artifact."""
        row = self.collectors.get(run_collector_id) if run_collector_id else None
        part = self.parts.get(artifact_id) if artifact_id else None
        return Citation(
            str(row.run_id) if row else "",
            row.collector if row else "",
            str(artifact_id or ""),
            part.part if part else "",
            lines,
        )


def _cites(session: Session, rows: Collection[RunCollector]) -> _Cites:
    of_them = select(Artifact).where(Artifact.run_collector_id.in_([row.id for row in rows]))
    return _Cites({row.id: row for row in rows}, {one.id: one for one in session.scalars(of_them)})


def _owners(
    session: Session, runs: Sequence[UUID]
) -> tuple[dict[str, RunCollector], dict[str, RunCollector]]:
    """For each collector the row whose yield counts: the last that came home, else the last.

    And where that one looked at a part of the host only, the last that came home from the whole of it.
    """
    place = {run_id: at for at, run_id in enumerate(runs)}
    query = (
        select(RunCollector, Capture.scope)
        .join(Run, Run.id == RunCollector.run_id)
        .join(Capture, Capture.id == Run.capture_id)
        .where(RunCollector.run_id.in_(runs))
    )
    found = [(row, bool(scope)) for row, scope in session.execute(query)]
    best: dict[str, tuple[RunCollector, bool]] = {}
    whole: dict[str, RunCollector] = {}
    for row, narrow in sorted(found, key=lambda one: (one[0].state in CAME, place[one[0].run_id])):
        best[row.collector] = row, narrow
        if row.state in CAME and not narrow:
            whole[row.collector] = row
    wider = {name: whole[name] for name, (_, narrow) in best.items() if narrow and name in whole}
    return {name: row for name, (row, _) in best.items()}, wider


def _outcome(row: RunCollector) -> Outcome:
    reason = row.reason or {}
    seconds = (row.ended_ns - row.started_ns) / 1e9 if row.started_ns and row.ended_ns else 0.0
    said = Sentence(str(reason["key"]), reason.get("params") or {}) if reason.get("key") else None
    return Outcome(row.collector, row.state, str(row.run_id), said, seconds)


def _measured(cites: _Cites) -> list[UUID]:
    """Rules judge what the capture saw; what was kept before it is for people to look at."""
    return [one.id for one in cites.collectors.values() if one.collector != look_back.ID]


def _lanes(session: Session, cites: _Cites, only: Reads | None) -> list[Lane]:
    query = (
        select(SeriesChunk)
        .where(SeriesChunk.run_collector_id.in_(_measured(cites)), SeriesChunk.level == 0)
        .order_by(SeriesChunk.metric, SeriesChunk.t0_ns)
        .limit(MAX_CHUNKS)
    )
    if only is not None:
        query = query.where(SeriesChunk.metric.in_(only.metrics))
    grouped: dict[tuple[str, str, UUID | None], list[SeriesChunk]] = {}
    for one in session.scalars(query):
        key = (one.metric, repr(sorted(one.labels.items())), one.run_collector_id)
        grouped.setdefault(key, []).append(one)
    return [lane for pieces in grouped.values() for lane in [_lane(pieces, cites)] if lane is not None]


def _lane(pieces: Sequence[SeriesChunk], cites: _Cites) -> Lane | None:
    """The chunks of one series, one after the other; a change of columns in between ends it."""
    first = pieces[0]
    pieces = [one for one in pieces if one.axis_values == first.axis_values]
    rows = [chunks.decode(one.data) for one in pieces]
    lines: list[int] | None = None
    if all(one.lines is not None for one in pieces):
        lines = [int(line) for one in pieces for line in chunks.decode_lines(one.lines or b"")]
    values = np.concatenate([one.mean for one in rows])
    if not len(values):
        return None
    return Lane(
        first.metric,
        first.labels,
        first.axis,
        tuple(first.axis_values or ()),
        np.concatenate([one.start_ns for one in rows]),
        values,
        lines,
        cites.of(first.run_collector_id, first.artifact_id),
    )


def _tables(session: Session, cites: _Cites, only: Reads | None, wider: _Cites) -> dict[str, list[Row]]:
    """The rows of tables by kind; those of the wider look only about processes that the narrower one did not see."""
    found = _rows(session, cites, only)
    for kind, rows in (_rows(session, wider, only) if wider.collectors else {}).items():
        seen = {row.text("pid") for row in found.get(kind, ())}
        found.setdefault(kind, []).extend(row for row in rows if row.text("pid") not in seen | {""})
    return found


def _rows(session: Session, cites: _Cites, only: Reads | None) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    query = (
        select(ResultTable).where(ResultTable.run_collector_id.in_(cites.collectors)).order_by(ResultTable.id)
    )
    if only is not None:
        query = query.where(ResultTable.kind.in_(only.tables))
    for table in session.scalars(query):
        names = [str(column["id"]) for column in table.columns]
        lines = table.lines if len(table.lines) == len(table.rows) else [0] * len(table.rows)
        rows = found.setdefault(table.kind, [])
        for cells, line in zip(table.rows, lines, strict=True):
            cite = cites.of(table.run_collector_id, table.artifact_id, (int(line),) if line else ())
            rows.append(Row(dict(zip(names, cells, strict=False)), cite))
    return found


def _events(
    session: Session, cites: _Cites, runs: Sequence[Run], began_ns: int, only: Reads | None
) -> list[Happening]:
    """Events of these runs from shortly before the capture on; what two runs read from one log counts once."""
    owner_of = {part.id: part.run_collector_id for part in cites.parts.values()}
    query = (
        select(Event)
        .where(Event.run_id.in_([run.id for run in runs]), Event.t_ns >= began_ns - LOOK_BACK_NS)
        .order_by(Event.t_ns)
        .limit(MAX_EVENTS)
    )
    if only is not None:
        query = query.where(Event.kind.in_(only.events))
    found: dict[UUID | tuple[str, int, str], Happening] = {}
    for one in session.scalars(query):
        known = one.same_key is not None
        key = (one.repeats_id or one.id) if known else (one.kind, one.t_ns, one.detail)
        owner = owner_of.get(one.artifact_id) if one.artifact_id else None
        if key in found and owner is None:
            continue
        cite = cites.of(owner, one.artifact_id, (one.line,) if one.line else ())
        params = dict(one.title.get("params") or {})
        found[key] = Happening(one.kind, one.t_ns, one.severity, params, one.detail, cite)
    return list(found.values())


def _stacks(session: Session, store: ArtifactStore, cites: _Cites, only: Reads | None) -> dict[str, Stacks]:
    """The heaviest profile of each kind that is ready and can be opened."""
    query = (
        select(Profile)
        .where(Profile.run_collector_id.in_(_measured(cites)), Profile.state == "ready")
        .order_by(Profile.weight)
    )
    if only is not None:
        query = query.where(Profile.kind.in_(only.stacks))
    found: dict[str, Stacks] = {}
    for one in session.scalars(query):
        if one.kind == "sched" or not one.store_key:
            continue
        try:
            profile = PROFILES.get(one.store_key, store.path)
        except (ArtifactMissing, ArtifactAltered, DamagedFile):
            continue
        found[one.kind] = Stacks(
            one.kind, profile, _place(one, cites), one.lost or 0, one.unknown_share or 0.0
        )
    return found


def _sched(session: Session, store: ArtifactStore, cites: _Cites) -> Scheduled | None:
    """The events of the scheduler, where they are ready and can be opened."""
    query = (
        select(Profile)
        .where(
            Profile.run_collector_id.in_(cites.collectors), Profile.state == "ready", Profile.kind == "sched"
        )
        .order_by(Profile.id.desc())
    )
    for one in session.scalars(query):
        if not one.store_key:
            continue
        try:
            table = SCHEDS.get(one.store_key, store.path)
        except (ArtifactMissing, ArtifactAltered, DamagedFile, FileNotFoundError):
            continue
        # A flame graph is no place to look for a wait: the events themselves are.
        return Scheduled(table, replace(_place(one, cites), profile=""))
    return None


def _place(one: Profile, cites: _Cites) -> Citation:
    """The artifact that a profile was made of, and the profile."""
    source = one.source or {}
    artifact = (source.get("artifacts") or {}).get(source.get("part"))
    base = cites.of(one.run_collector_id, UUID(artifact) if artifact else None)
    return Citation(base.run, base.collector, base.artifact, base.part, (), str(one.id))


def _own_cost(runs: Sequence[Run]) -> float | None:
    """Cores that the captures themselves took, the worst of the runs."""
    costs = [
        run.host_cpu_ms / 1e3 / ((run.t1_ns - run.t0_ns) / 1e9)
        for run in runs
        if run.host_cpu_ms is not None and run.t0_ns and run.t1_ns and run.t1_ns > run.t0_ns
    ]
    return max(costs, default=None)
