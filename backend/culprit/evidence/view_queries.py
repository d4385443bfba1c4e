"""SELECTs of the view of a host; a filter of None selects everything."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.evidence.series_chunk import SeriesChunk

MAX_CHUNKS = 20_000
MAX_EVENTS = 2_000
WITH_STACKS = ("offcpu", "wall_time")
"""Collectors that walk a stack at each context switch. This delays threads, so no rule reads their switches."""


def load_runs(session: Session, run_ids: Collection[UUID]) -> dict[UUID, Run]:
    """Return runs by ID."""
    return {run.id: run for run in session.scalars(select(Run).where(Run.id.in_(run_ids)))}


def list_collectors(
    session: Session, run_ids: Collection[UUID], states: Collection[str] | None = None
) -> Sequence[RunCollector]:
    """Return the collectors of runs in these states."""
    query = select(RunCollector).where(RunCollector.run_id.in_(run_ids))
    return session.scalars(query if states is None else query.where(RunCollector.state.in_(states))).all()


def list_collectors_with_scope(
    session: Session, run_ids: Collection[UUID]
) -> list[tuple[RunCollector, bool]]:
    """Return the collectors of runs, each with whether its capture was limited to a scope."""
    query = (
        select(RunCollector, Capture.scope)
        .join(Run, Run.id == RunCollector.run_id)
        .join(Capture, Capture.id == Run.capture_id)
        .where(RunCollector.run_id.in_(run_ids))
    )
    return [(row, bool(scope)) for row, scope in session.execute(query)]


def load_artifacts(session: Session, collector_ids: Collection[UUID]) -> dict[UUID, Artifact]:
    """Return the artifacts of run collectors by ID."""
    query = select(Artifact).where(Artifact.run_collector_id.in_(collector_ids))
    return {item.id: item for item in session.scalars(query)}


def list_summaries(
    session: Session, collector_ids: Collection[UUID], metrics: Collection[str] | None
) -> Sequence[Any]:
    """Return the summaries of chunks at full resolution in order of time, without their data."""
    query = select(
        SeriesChunk.metric, SeriesChunk.labels, SeriesChunk.axis, SeriesChunk.axis_values, SeriesChunk.t0_ns,
        SeriesChunk.summary, SeriesChunk.run_collector_id, SeriesChunk.artifact_id,
    ).where(
        SeriesChunk.run_collector_id.in_(collector_ids), SeriesChunk.level == 0, SeriesChunk.summary.is_not(None)
    )  # fmt: skip
    if metrics is not None:
        query = query.where(SeriesChunk.metric.in_(metrics))
    return session.execute(query.order_by(SeriesChunk.t0_ns).limit(MAX_CHUNKS)).all()


def list_chunks(
    session: Session, collector_ids: Collection[UUID], metrics: Collection[str] | None
) -> Sequence[SeriesChunk]:
    """Return the chunks at full resolution, by metric in order of time."""
    query = select(SeriesChunk).where(SeriesChunk.run_collector_id.in_(collector_ids), SeriesChunk.level == 0)
    if metrics is not None:
        query = query.where(SeriesChunk.metric.in_(metrics))
    return session.scalars(query.order_by(SeriesChunk.metric, SeriesChunk.t0_ns).limit(MAX_CHUNKS)).all()


def list_tables(
    session: Session, collector_ids: Collection[UUID], kinds: Collection[str] | None
) -> Sequence[ResultTable]:
    """Return the result tables of these kinds."""
    query = select(ResultTable).where(ResultTable.run_collector_id.in_(collector_ids))
    if kinds is not None:
        query = query.where(ResultTable.kind.in_(kinds))
    return session.scalars(query.order_by(ResultTable.id)).all()


def list_events(
    session: Session, run_ids: Collection[UUID], from_ns: int, kinds: Collection[str] | None
) -> Sequence[StoredEvent]:
    """Return the events of runs since a time, in order of time."""
    query = select(StoredEvent).where(StoredEvent.run_id.in_(run_ids), StoredEvent.t_ns >= from_ns)
    if kinds is not None:
        query = query.where(StoredEvent.kind.in_(kinds))
    return session.scalars(query.order_by(StoredEvent.t_ns).limit(MAX_EVENTS)).all()


def list_profiles(
    session: Session, collector_ids: Collection[UUID], kinds: Collection[str] | None
) -> Sequence[Profile]:
    """Return the profiles that are ready, the heaviest last."""
    query = select(Profile).where(Profile.run_collector_id.in_(collector_ids), Profile.state == "ready")
    if kinds is not None:
        query = query.where(Profile.kind.in_(kinds))
    return session.scalars(query.order_by(Profile.weight)).all()


def list_schedules(session: Session, collector_ids: Collection[UUID]) -> Sequence[Profile]:
    """Return the profiles of scheduler events that are ready, newest first; none of recordings with stacks."""
    query = (
        select(Profile)
        .join(RunCollector, RunCollector.id == Profile.run_collector_id)
        .where(
            Profile.run_collector_id.in_(collector_ids),
            Profile.state == "ready",
            Profile.kind == "sched",
            RunCollector.collector.not_in(WITH_STACKS),
        )
    )
    return session.scalars(query.order_by(Profile.id.desc())).all()
