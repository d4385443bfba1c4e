"""Every SELECT about what surrounds a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import ARRAY, Text, and_, cast, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Row as SqlRow
from sqlalchemy.orm import Session

from collectors import look_back
from collectors.contract import Sentence
from culprit.auth.actor import Actor
from culprit.auth.policy import visible, visible_runs
from culprit.core.chunks import read_summary
from culprit.core.rollup import MEAN, combine
from culprit.core.rollup import Row as Summary
from culprit.core.rules.contract import Citation
from culprit.core.rules.peers import ROLE_LABELS
from culprit.core.rules.view import Lane, Outcome, Row, View
from culprit.core.whereabouts import canonical
from culprit.kit.clock import now_ns
from culprit.models import (
    Annotation,
    Artifact,
    Evaluation,
    Event,
    Host,
    HostFact,
    ResultTable,
    Run,
    RunCollector,
    SeriesChunk,
    UserAccount,
)

#: Containers come and go with their addresses; what a run of the same day says of them may still hold.
SAME_DAY = timedelta(hours=24)
LATELY_NS = 72 * 3600 * 1_000_000_000
MAX_TOLD = 40
MAX_CHUNKS = 20_000
MAX_TWINS = 20
READ = ("done", "partial", "failed", "cancelled")


def host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """The host, where it exists for this actor."""
    return session.scalar(select(Host).where(Host.id == host_id, visible(actor)))


def run(session: Session, actor: Actor, run_id: UUID) -> Run | None:
    """The run, where it exists for this actor."""
    return session.scalar(select(Run).where(Run.id == run_id, visible_runs(actor)))


def newest_run(session: Session, host_id: UUID) -> Run | None:
    """The run on a host that was read and began last."""
    query = select(Run).where(Run.host_id == host_id, Run.state.in_(READ), Run.t0_ns.is_not(None))
    return session.scalar(query.order_by(Run.t0_ns.desc()).limit(1))


def told(session: Session, host_id: UUID, of: Run | None) -> list[tuple[Annotation, str]]:
    """What was told of a host in the 72 hours before the end of a run (without one: before now) and while it took, the
    newest first, each with the name of the account that told it."""
    to_ns = of.t1_ns if of is not None and of.t1_ns is not None else now_ns()
    query = (
        select(Annotation, UserAccount.name)
        .join(UserAccount, UserAccount.id == Annotation.told_by)
        .where(Annotation.about(host_id), Annotation.within(to_ns - LATELY_NS, to_ns + 1))
        .order_by(Annotation.t_ns.desc())
        .limit(MAX_TOLD)
    )
    return [(row[0], row[1]) for row in session.execute(query)]


def facts_known(session: Session, host_id: UUID) -> tuple[int | None, int | None, int]:
    """(the first reading of any fact of a host, the last, how many facts there are)."""
    query = select(
        func.min(HostFact.since_ns), func.max(HostFact.seen_ns), func.count(HostFact.name.distinct())
    )
    row = session.execute(query.where(HostFact.host_id == host_id)).one()
    return row[0], row[1], row[2]


def fact_changes(
    session: Session, host_id: UUID, from_ns: int, to_ns: int, limit: int
) -> tuple[Sequence[SqlRow[Any]], int]:
    """Spans of facts that began in a range and follow on another one, the newest first; and how many there are."""
    earlier = {
        "before_value": HostFact.value, "before_ns": HostFact.seen_ns, "before_run_id": HostFact.last_run_id,
        "before_artifact_id": HostFact.last_artifact_id, "before_line": HostFact.last_line,
    }  # fmt: skip
    name, since = (HostFact.source, HostFact.name), HostFact.since_ns
    before = [
        func.lag(column).over(partition_by=name, order_by=since).label(label)
        for label, column in earlier.items()
    ]
    spans = select(HostFact, *before).where(HostFact.host_id == host_id).subquery()
    within = (spans.c.before_ns.is_not(None), spans.c.since_ns > from_ns, spans.c.since_ns <= to_ns)
    total = session.scalar(select(func.count()).select_from(spans).where(*within)) or 0
    query = select(spans).where(*within).order_by(spans.c.since_ns.desc(), spans.c.name).limit(limit)
    return session.execute(query).all(), total


def logged_changes(
    session: Session, host_id: UUID, from_ns: int, to_ns: int, limit: int
) -> tuple[list[Event], int]:
    """What the logs of a host tell of packages, services, files and boots, the newest first; and how many there are."""
    within = (
        Event.host_id == host_id,
        Event.t_ns > from_ns,
        Event.t_ns <= to_ns,
        Event.repeats_id.is_(None),
        Event.kind.startswith("change_"),
    )
    total = session.scalar(select(func.count()).select_from(Event).where(*within)) or 0
    query = select(Event).where(*within).order_by(Event.t_ns.desc()).limit(limit)
    return list(session.scalars(query)), total


def nearest_runs(session: Session, hosts: Iterable[UUID], to: Run) -> dict[UUID, Run]:
    """Of each host the run that was read and began nearest to another one, no further off than a day."""
    if to.t0_ns is None:
        return {}
    day_ns = int(SAME_DAY.total_seconds()) * 1_000_000_000
    query = (
        select(Run)
        .where(
            Run.host_id.in_(list(hosts)),
            Run.state.in_(READ),
            Run.t0_ns.between(to.t0_ns - day_ns, to.t0_ns + day_ns),
        )
        .ext(distinct_on(Run.host_id))
        .order_by(Run.host_id, func.abs(Run.t0_ns - to.t0_ns), Run.id.desc())
    )
    return {one.host_id: one for one in session.scalars(query) if one.host_id is not None}


def having(session: Session, actor: Actor, addresses: Collection[str], near: Run) -> dict[str, set[str]]:
    """Which of these addresses each visible active host has, by its id: as it is reached, as the last look at it
    found, and as runs of the same day did (addresses of containers among them)."""
    if not addresses:
        return {}
    wanted = cast(sorted(addresses), ARRAY(Text))
    listed = Host.facts["addresses"]
    query = select(Host.id, Host.address, listed).where(
        Host.state == "active", visible(actor), or_(Host.address.in_(addresses), listed.has_any(wanted))
    )
    found: dict[str, set[str]] = {}
    for host_id, address, facts in session.execute(query):
        found.setdefault(str(host_id), set()).update(_texts([address]), _texts(facts))
    for host_id, told in session.execute(_told(actor, wanted, near)):
        found.setdefault(str(host_id), set()).update(_texts(told))
    return {name: kept for name, all_ in found.items() if (kept := all_ & set(addresses))}


def _told(actor: Actor, wanted: Any, near: Run) -> Any:
    """Addresses that collectors of runs of the same day named."""
    told = Run.facts["calls"]["addresses"]
    day_ns = int(SAME_DAY.total_seconds()) * 1_000_000_000
    at_ns = near.t0_ns or 0
    return (
        select(Run.host_id, told)
        .join(Host, Host.id == Run.host_id)
        .where(
            Host.state == "active",
            visible(actor),
            Run.t0_ns.between(at_ns - day_ns, at_ns + day_ns),
            told.has_any(wanted),
        )
        .distinct()
    )


def _texts(told: object) -> set[str]:
    return {canonical(one) for one in told if isinstance(one, str)} if isinstance(told, list) else set()


def names(session: Session, actor: Actor, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Names of visible hosts."""
    rows = session.execute(select(Host.id, Host.name).where(Host.id.in_(list(ids)), visible(actor)))
    return {row.id: row.name for row in rows}


def twins(session: Session, actor: Actor, of: Host) -> Sequence[Host]:
    """Visible active hosts with the same labels of those that say what a host is for."""
    same = {name: of.labels[name] for name in ROLE_LABELS if name in of.labels}
    if not same:
        return ()
    query = select(Host).where(
        and_(Host.id != of.id, Host.state == "active", Host.labels.contains(same), visible(actor))
    )
    return session.scalars(query.order_by(Host.name).limit(MAX_TWINS)).all()


def likely_causes(session: Session, runs: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Causes that rules named as likely, by run; runs that were not evaluated are left out."""
    query = select(Evaluation.run_id, Evaluation.ranking).where(Evaluation.run_id.in_(list(runs)))
    return {
        run_id: [one["id"] for one in ranking.get("causes", []) if one.get("confidence") != "possible"]
        for run_id, ranking in session.execute(query)
    }


def view(session: Session, of: Run, kinds: Collection[str], metrics: Collection[str] | None = ()) -> View:
    """One run with its tables of these kinds, and the means of these metrics (None: of all) as lanes of one row."""
    owners = {
        one.id: one for one in session.scalars(select(RunCollector).where(RunCollector.run_id == of.id))
    }
    parts = {one.id: one for one in session.scalars(select(Artifact).where(Artifact.run_id == of.id))}
    return View(
        outcomes={one.collector: _outcome(one) for one in owners.values()},
        lanes=_lanes(session, of, owners, metrics),
        tables=_tables(session, of, owners, parts, kinds),
        facts=of.facts or {},
        span_ns=(of.t0_ns, of.t1_ns) if of.t0_ns is not None and of.t1_ns is not None else None,
    )


def sources(session: Session, of: Run) -> dict[str, Citation]:
    """The first part of each collector of a run: where its facts were read."""
    query = (
        select(Artifact, RunCollector.collector)
        .join(RunCollector, RunCollector.id == Artifact.run_collector_id)
        .where(Artifact.run_id == of.id)
        .order_by(Artifact.id.desc())
    )
    return {name: Citation(str(of.id), name, str(one.id), one.part) for one, name in session.execute(query)}


def _outcome(row: RunCollector) -> Outcome:
    reason = row.reason or {}
    seconds = (row.ended_ns - row.started_ns) / 1e9 if row.started_ns and row.ended_ns else 0.0
    said = Sentence(str(reason["key"]), reason.get("params") or {}) if reason.get("key") else None
    return Outcome(row.collector, row.state, str(row.run_id), said, seconds)


def _tables(
    session: Session,
    of: Run,
    owners: Mapping[UUID, RunCollector],
    parts: Mapping[UUID, Artifact],
    kinds: Collection[str],
) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    query = select(ResultTable).where(ResultTable.run_id == of.id, ResultTable.kind.in_(kinds))
    for table in session.scalars(query.order_by(ResultTable.id)):
        columns = [str(column["id"]) for column in table.columns]
        lines = table.lines if len(table.lines) == len(table.rows) else [0] * len(table.rows)
        owner = owners.get(table.run_collector_id) if table.run_collector_id else None
        part = parts.get(table.artifact_id) if table.artifact_id else None
        place = (
            str(of.id),
            owner.collector if owner else "",
            str(part.id) if part else "",
            part.part if part else "",
        )
        found.setdefault(table.kind, []).extend(
            Row(dict(zip(columns, cells, strict=False)), Citation(*place, (int(line),) if line else ()))
            for cells, line in zip(table.rows, lines, strict=True)
        )
    return found


def _lanes(
    session: Session, of: Run, owners: Mapping[UUID, RunCollector], metrics: Collection[str] | None
) -> list[Lane]:
    """Out of the summaries of chunks: no chunk is opened."""
    if metrics is not None and not metrics:
        return []
    query = select(
        SeriesChunk.metric, SeriesChunk.labels, SeriesChunk.axis, SeriesChunk.axis_values, SeriesChunk.t0_ns,
        SeriesChunk.summary, SeriesChunk.run_collector_id, SeriesChunk.artifact_id,
    ).where(
        SeriesChunk.run_id == of.id, SeriesChunk.level == 0, SeriesChunk.summary.is_not(None),
        SeriesChunk.run_collector_id.not_in([one.id for one in owners.values() if one.collector == look_back.ID]),
    )  # fmt: skip
    if metrics is not None:
        query = query.where(SeriesChunk.metric.in_(metrics))
    grouped: dict[tuple[str, str], list[Any]] = {}
    for row in session.execute(query.order_by(SeriesChunk.t0_ns).limit(MAX_CHUNKS)):
        grouped.setdefault((row.metric, repr(sorted(row.labels.items()))), []).append(row)
    found = []
    for rows in grouped.values():
        first = rows[0]
        total = combine([Summary(tuple(one.axis_values or ("",)), read_summary(one.summary)) for one in rows])
        owner = owners.get(first.run_collector_id)
        if total is not None:
            cite = Citation(str(of.id), owner.collector if owner else "", str(first.artifact_id or ""), "")
            columns = total.columns if first.axis is not None else ()
            values = np.asarray(total.planes[MEAN], np.float64)[None, :]
            at = np.array([first.t0_ns], np.int64)
            found.append(Lane(first.metric, first.labels, first.axis, columns, at, values, None, cite))
    return found
