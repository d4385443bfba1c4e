"""SELECTs of timelines. Each reads only rows that overlap the requested range, at the requested resolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, and_, case, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.domain.series.chunks import HOUR_NS
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.evidence.series import StoredSeries
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.models.evidence.series_day import SeriesDay
from culprit.infra.models.hosts.host import Host

DAY_NS = 24 * HOUR_NS


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """One chunk at the requested resolution: `data` if the chunk is wider than a pixel, else only `summary`."""

    series_id: UUID
    run_id: UUID
    run_collector_id: UUID | None
    artifact_id: UUID | None
    axis_values: list[str] | None
    level: int
    t0_ns: int
    t1_ns: int
    raw_step_ns: int
    data: bytes | None
    summary: bytes | None


def find_host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """Return the host, or None if the actor cannot see it."""
    return session.scalar(select(Host).where(Host.id == host_id, visible_hosts_clause(actor)))


def list_series(session: Session, host_id: UUID) -> Sequence[StoredSeries]:
    """Return all series of a host."""
    return session.scalars(select(StoredSeries).where(StoredSeries.host_id == host_id)).all()


def chunks_query(series: Sequence[UUID], from_ns: int, to_ns: int, pixel_ns: int) -> Select[*tuple[Any, ...]]:
    """Select the chunks of `series` that overlap [from_ns, to_ns), each at the coarsest level that fits a pixel.

    A chunk is at most one hour long, so chunks that start more than one hour before the range cannot overlap it. A
    chunk that is narrower than a pixel is read without its rows, because the summary has the values of the pixel.
    """
    short = SeriesChunk.t1_ns - SeriesChunk.t0_ns <= pixel_ns
    fits = or_(SeriesChunk.level == 0, and_(~short, SeriesChunk.step_ns > 0, SeriesChunk.step_ns <= pixel_ns))
    return (
        select(
            SeriesChunk.series_id,
            SeriesChunk.run_id,
            SeriesChunk.run_collector_id,
            SeriesChunk.artifact_id,
            SeriesChunk.axis_values,
            SeriesChunk.level,
            SeriesChunk.t0_ns,
            SeriesChunk.t1_ns,
            SeriesChunk.raw_step_ns,
            case((~short, SeriesChunk.data)),
            case((short, SeriesChunk.summary)),
        )
        .ext(distinct_on(SeriesChunk.series_id, SeriesChunk.t0_ns, SeriesChunk.run_id))
        .where(
            SeriesChunk.series_id.in_(series),
            SeriesChunk.t0_ns > from_ns - HOUR_NS,
            SeriesChunk.t0_ns < to_ns,
            SeriesChunk.t1_ns >= from_ns,
            fits,
        )
        .order_by(SeriesChunk.series_id, SeriesChunk.t0_ns, SeriesChunk.run_id, SeriesChunk.level.desc())
    )


def load_chunks(
    session: Session, series: Sequence[UUID], from_ns: int, to_ns: int, pixel_ns: int
) -> list[ChunkRow]:
    """Return the chunks that `chunks_query` selects."""
    return [ChunkRow(*row) for row in session.execute(chunks_query(series, from_ns, to_ns, pixel_ns))]


def load_days(
    session: Session, series: Sequence[UUID], from_ns: int, to_ns: int, planes: Sequence[str]
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return (series ID, day, columns, hourly values of each of `planes`) for the days that overlap the range."""
    query = select(
        SeriesDay.series_id,
        SeriesDay.day,
        SeriesDay.axis_values,
        *(getattr(SeriesDay, plane) for plane in planes),
    ).where(
        SeriesDay.series_id.in_(series),
        SeriesDay.day >= from_ns // DAY_NS,
        SeriesDay.day <= to_ns // DAY_NS,
    )
    return session.execute(query.order_by(SeriesDay.series_id, SeriesDay.day)).all()


def load_collector_names(session: Session, ids: Sequence[UUID]) -> dict[UUID, str]:
    """Return the collector names of run_collector rows, by ID."""
    query = select(RunCollector.id, RunCollector.collector).where(RunCollector.id.in_(ids))
    return {row.id: row.collector for row in session.execute(query)}


def list_runs(
    session: Session, host_id: UUID, from_ns: int, to_ns: int, limit: int
) -> tuple[list[tuple[Run, Capture]], int]:
    """Return the newest `limit` runs with data in the range, oldest first, and the number of all such runs."""
    begin = func.coalesce(Run.look_back_ns, Run.t0_ns)
    within = (Run.host_id == host_id, begin < to_ns, Run.t1_ns >= from_ns)
    total = session.scalar(select(func.count()).select_from(Run).where(*within)) or 0
    query = (
        (select(Run, Capture).join(Capture, Capture.id == Run.capture_id).where(*within))
        .order_by(Run.t0_ns.desc())
        .limit(limit)
    )
    runs = [(run, capture) for run, capture in session.execute(query)]
    return runs[::-1], total


def find_time_range(session: Session, host_id: UUID) -> tuple[int | None, int | None]:
    """Return the first and last time with data of a host, extended by events reported within a day of it."""
    row = session.execute(
        select(func.min(func.coalesce(Run.look_back_ns, Run.t0_ns)), func.max(Run.t1_ns)).where(
            Run.host_id == host_id
        )
    ).one()
    if row[0] is None or row[1] is None:
        return row[0], row[1]
    near = (
        ReportedEvent.build_host_condition(host_id),
        ReportedEvent.t_ns.between(row[0] - DAY_NS, row[1] + DAY_NS),
    )
    events_range = session.execute(
        select(func.min(ReportedEvent.t_ns), func.max(ReportedEvent.t_ns)).where(*near)
    ).one()
    return min(row[0], events_range[0] or row[0]), max(row[1], events_range[1] or row[1])


def list_events(
    session: Session, host_id: UUID, from_ns: int, to_ns: int, limit: int
) -> tuple[list[StoredEvent], int]:
    """Return the events in a range by time, only the most severe if there are too many, and the number of all events.

    Events stored by several captures count once.
    """
    within = (
        StoredEvent.host_id == host_id,
        StoredEvent.t_ns >= from_ns,
        StoredEvent.t_ns < to_ns,
        StoredEvent.repeats_id.is_(None),
    )
    total = session.scalar(select(func.count()).select_from(StoredEvent).where(*within)) or 0
    severity = case({"critical": 0, "warn": 1}, value=StoredEvent.severity, else_=2)
    query = select(StoredEvent).where(*within).order_by(severity, StoredEvent.t_ns).limit(limit)
    return sorted(session.scalars(query), key=lambda event: event.t_ns), total


def list_reported_events(
    session: Session, host_id: UUID, from_ns: int, to_ns: int, limit: int
) -> tuple[list[tuple[ReportedEvent, str]], int]:
    """Return the events reported for a host in a range, each with the name of its account, and their count.

    Only the newest are returned when there are too many.
    """
    within = (
        ReportedEvent.build_host_condition(host_id),
        ReportedEvent.build_range_condition(from_ns, to_ns),
    )
    total = session.scalar(select(func.count()).select_from(ReportedEvent).where(*within)) or 0
    query = select(ReportedEvent, UserAccount.name).join(
        UserAccount, UserAccount.id == ReportedEvent.reported_by
    )
    rows = session.execute(query.where(*within).order_by(ReportedEvent.t_ns.desc()).limit(limit))
    return [(row[0], row[1]) for row in rows][::-1], total


def load_typical_tables(
    session: Session, host_id: UUID, kind: str, metrics: Sequence[str], *, within: tuple[int, int], limit: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return (run ID, artifact ID, rows) of the tables of typical ranges, newest run first; each has one metric."""
    query = (
        select(ResultTable.run_id, ResultTable.artifact_id, ResultTable.rows)
        .join(Run, Run.id == ResultTable.run_id)
        .where(
            Run.host_id == host_id,
            Run.t0_ns < within[1],
            Run.t1_ns >= within[0],
            ResultTable.kind == kind,
            ResultTable.rows[(0, 0)].astext.in_(metrics),
        )
        .order_by(Run.t0_ns.desc(), ResultTable.id)
        .limit(limit)
    )
    return session.execute(query).all()


def list_failed_fetches(
    session: Session, host_id: UUID, collector: str, within: tuple[int, int], limit: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return (run ID, start, end, reason) of the runs in a range for which `collector` failed, newest first."""
    query = (
        select(Run.id, Run.t0_ns, Run.t1_ns, RunCollector.reason)
        .join(RunCollector, RunCollector.run_id == Run.id)
        .where(
            Run.host_id == host_id,
            Run.t0_ns < within[1],
            Run.t1_ns >= within[0],
            RunCollector.collector == collector,
            RunCollector.state.in_(("failed", "unreadable")),
        )
        .order_by(Run.t0_ns.desc())
        .limit(limit)
    )
    return session.execute(query).all()


def find_nearest_chunk(
    session: Session, host_id: UUID, metric: str, labels_key: str, t_ns: int
) -> tuple[SeriesChunk, Artifact] | None:
    """Return the last raw chunk with an artifact that starts within one hour before `t_ns`, or None."""
    row = session.execute(
        select(SeriesChunk, Artifact)
        .join(StoredSeries, StoredSeries.id == SeriesChunk.series_id)
        .join(Artifact, Artifact.id == SeriesChunk.artifact_id)
        .where(
            StoredSeries.host_id == host_id,
            StoredSeries.metric == metric,
            StoredSeries.labels_key == labels_key,
            SeriesChunk.level == 0,
            SeriesChunk.t0_ns <= t_ns,
            SeriesChunk.t0_ns > t_ns - HOUR_NS,
        )
        .order_by(SeriesChunk.t0_ns.desc())
        .limit(1)
    ).first()
    return (row[0], row[1]) if row is not None else None
