"""Every SELECT about what came home."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, exists, select
from sqlalchemy.orm import Session, selectinload

from collectors import look_back
from culprit.auth.actor import Actor
from culprit.auth.policy import visible_runs
from culprit.models import (
    Artifact,
    Capture,
    Event,
    Profile,
    Removal,
    ResultTable,
    Run,
    RunCollector,
    SeriesChunk,
)

MAX_EVENTS = 10_000
MAX_CHUNKS = 50_000


def run(session: Session, actor: Actor, run_id: UUID) -> tuple[Run, Capture] | None:
    """One run with its capture, where it exists for this actor."""
    row = session.execute(
        select(Run, Capture)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Run.id == run_id, visible_runs(actor))
        .options(selectinload(Run.collectors))
        .execution_options(populate_existing=True)
    ).first()
    return (row[0], row[1]) if row is not None else None


def artifacts(session: Session, run_id: UUID) -> Sequence[Artifact]:
    """All parts of a run, of every attempt."""
    return session.scalars(select(Artifact).where(Artifact.run_id == run_id).order_by(Artifact.id)).all()


def profiles(session: Session, run_id: UUID) -> Sequence[Profile]:
    """The profiles of a run."""
    return session.scalars(select(Profile).where(Profile.run_id == run_id).order_by(Profile.id)).all()


def tables(session: Session, run_id: UUID) -> Sequence[ResultTable]:
    """The tables of a run."""
    query = select(ResultTable).where(ResultTable.run_id == run_id).order_by(ResultTable.id)
    return session.scalars(query).all()


def removals(session: Session, run_id: UUID) -> Sequence[Removal]:
    """What retention has deleted of a run."""
    query = select(Removal).where(Removal.run_id == run_id).order_by(Removal.at, Removal.kind)
    return session.scalars(query).all()


def series(session: Session, run_id: UUID) -> Sequence[Row[*tuple[Any, ...]]]:
    """Every raw chunk of what a run measured, by its summary; no chunk is opened."""
    kept = exists().where(
        RunCollector.id == SeriesChunk.run_collector_id, RunCollector.collector == look_back.ID
    )
    query = (
        select(
            SeriesChunk.metric,
            SeriesChunk.labels,
            SeriesChunk.axis,
            SeriesChunk.axis_values,
            SeriesChunk.n,
            SeriesChunk.t0_ns,
            SeriesChunk.t1_ns,
            SeriesChunk.summary,
        )
        .where(SeriesChunk.run_id == run_id, SeriesChunk.level == 0, ~kept)
        .order_by(SeriesChunk.metric, SeriesChunk.id)
        .limit(MAX_CHUNKS)
    )
    return session.execute(query).all()


def events(session: Session, run_id: UUID) -> Sequence[Event]:
    """The events of a run by time."""
    query = select(Event).where(Event.run_id == run_id).order_by(Event.t_ns).limit(MAX_EVENTS)
    return session.scalars(query).all()


def artifact(session: Session, actor: Actor, artifact_id: UUID) -> tuple[Artifact, Run, str | None] | None:
    """One stored part with its run and its collector, where the run exists for this actor."""
    row = session.execute(
        select(Artifact, Run, RunCollector.collector)
        .join(Run, Run.id == Artifact.run_id)
        .outerjoin(RunCollector, RunCollector.id == Artifact.run_collector_id)
        .where(Artifact.id == artifact_id, visible_runs(actor))
    ).first()
    return (row[0], row[1], row[2]) if row is not None else None
