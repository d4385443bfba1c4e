"""Every SELECT of timelines. Each touches only rows that overlap the asked range, at the asked zoom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, and_, case, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.core.chunks import HOUR_NS
from culprit.models import (
    Annotation,
    Artifact,
    Capture,
    Event,
    Host,
    ResultTable,
    Run,
    RunCollector,
    Series,
    SeriesChunk,
    SeriesDay,
    UserAccount,
)

DAY_NS = 24 * HOUR_NS


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """One chunk as a zoom needs it: `data` where its rows are finer than a pixel, else the summary alone."""

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


def host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """The host, where it exists for this actor."""
    return session.scalar(select(Host).where(Host.id == host_id, visible(actor)))


def lanes(session: Session, host_id: UUID) -> Sequence[Series]:
    """All lanes that a host ever had."""
    return session.scalars(select(Series).where(Series.host_id == host_id)).all()


def chunks_query(series: Sequence[UUID], from_ns: int, to_ns: int, pixel_ns: int) -> Select[*tuple[Any, ...]]:
    """The chunks of `series` that overlap [from_ns, to_ns), each at the coarsest level within a pixel.

    A chunk lies within one hour, so none that begins more than an hour before the range reaches into it. One
    that is narrower than a pixel needs no rows: its summary is what the pixel shows.
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


def chunks(
    session: Session, series: Sequence[UUID], from_ns: int, to_ns: int, pixel_ns: int
) -> list[ChunkRow]:
    """See `chunks_query`."""
    return [ChunkRow(*row) for row in session.execute(chunks_query(series, from_ns, to_ns, pixel_ns))]


def days(
    session: Session, series: Sequence[UUID], from_ns: int, to_ns: int, planes: Sequence[str]
) -> Sequence[Row[*tuple[Any, ...]]]:
    """The days of `series` that overlap the range: series, day, columns, and the asked `planes` hour by hour."""
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


def collector_names(session: Session, ids: Sequence[UUID]) -> dict[UUID, str]:
    """The collectors behind run_collector rows."""
    query = select(RunCollector.id, RunCollector.collector).where(RunCollector.id.in_(ids))
    return {row.id: row.collector for row in session.execute(query)}


def runs(
    session: Session, host_id: UUID, from_ns: int, to_ns: int, limit: int
) -> tuple[list[tuple[Run, Capture]], int]:
    """The newest runs with data in the range, oldest first, and how many there are."""
    begin = func.coalesce(Run.look_back_ns, Run.t0_ns)
    within = (Run.host_id == host_id, begin < to_ns, Run.t1_ns >= from_ns)
    total = session.scalar(select(func.count()).select_from(Run).where(*within)) or 0
    query = (
        (select(Run, Capture).join(Capture, Capture.id == Run.capture_id).where(*within))
        .order_by(Run.t0_ns.desc())
        .limit(limit)
    )
    found = [(run, capture) for run, capture in session.execute(query)]
    return found[::-1], total


def span(session: Session, host_id: UUID) -> tuple[int | None, int | None]:
    """From the first to the last moment of which a host's runs know anything, and what was told within a day of it."""
    row = session.execute(
        select(func.min(func.coalesce(Run.look_back_ns, Run.t0_ns)), func.max(Run.t1_ns)).where(
            Run.host_id == host_id
        )
    ).one()
    if row[0] is None or row[1] is None:
        return row[0], row[1]
    near = (Annotation.about(host_id), Annotation.t_ns.between(row[0] - DAY_NS, row[1] + DAY_NS))
    told = session.execute(select(func.min(Annotation.t_ns), func.max(Annotation.t_ns)).where(*near)).one()
    return min(row[0], told[0] or row[0]), max(row[1], told[1] or row[1])


def events(session: Session, host_id: UUID, from_ns: int, to_ns: int, limit: int) -> tuple[list[Event], int]:
    """The events in a range by time, the most severe where there are too many; and how many there are.

    What came home with several captures counts once.
    """
    within = (
        Event.host_id == host_id,
        Event.t_ns >= from_ns,
        Event.t_ns < to_ns,
        Event.repeats_id.is_(None),
    )
    total = session.scalar(select(func.count()).select_from(Event).where(*within)) or 0
    severity = case({"critical": 0, "warn": 1}, value=Event.severity, else_=2)
    query = select(Event).where(*within).order_by(severity, Event.t_ns).limit(limit)
    return sorted(session.scalars(query), key=lambda event: event.t_ns), total


def told(
    session: Session, host_id: UUID, from_ns: int, to_ns: int, limit: int
) -> tuple[list[tuple[Annotation, str]], int]:
    """What was told of a host in a range, each with the name of the account that told it; and how many there are.

    The newest where there are too many.
    """
    within = (Annotation.about(host_id), Annotation.within(from_ns, to_ns))
    total = session.scalar(select(func.count()).select_from(Annotation).where(*within)) or 0
    query = select(Annotation, UserAccount.name).join(UserAccount, UserAccount.id == Annotation.told_by)
    rows = session.execute(query.where(*within).order_by(Annotation.t_ns.desc()).limit(limit))
    return [(row[0], row[1]) for row in rows][::-1], total


def usual_tables(
    session: Session, host_id: UUID, kind: str, metrics: Sequence[str], *, within: tuple[int, int], limit: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    """What is usual in a range, of the newest runs first: run, artifact, rows. A table is of one metric."""
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


def unusual(
    session: Session, host_id: UUID, collector: str, within: tuple[int, int], limit: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    """The runs in a range for which `collector` brought nothing, newest first: run, its span, the reason."""
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


def nearest_chunk(
    session: Session, host_id: UUID, metric: str, labels_key: str, t_ns: int
) -> tuple[SeriesChunk, Artifact] | None:
    """The raw chunk with bytes at home that holds `t_ns`, or the one that begins last before it."""
    row = session.execute(
        select(SeriesChunk, Artifact)
        .join(Series, Series.id == SeriesChunk.series_id)
        .join(Artifact, Artifact.id == SeriesChunk.artifact_id)
        .where(
            Series.host_id == host_id,
            Series.metric == metric,
            Series.labels_key == labels_key,
            SeriesChunk.level == 0,
            SeriesChunk.t0_ns <= t_ns,
            SeriesChunk.t0_ns > t_ns - HOUR_NS,
        )
        .order_by(SeriesChunk.t0_ns.desc())
        .limit(1)
    ).first()
    return (row[0], row[1]) if row is not None else None
