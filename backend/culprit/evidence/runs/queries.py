"""SELECTs about runs and artifacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, exists, select
from sqlalchemy.orm import Session, selectinload

from collectors.runner import lookback
from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_runs_clause
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.models.system.removal import Removal

MAX_EVENTS = 10_000
MAX_CHUNKS = 50_000


def find_run(session: Session, actor: Actor, run_id: UUID) -> tuple[Run, Capture] | None:
    """Return a run with its capture, or None if it is not visible to the actor."""
    row = session.execute(
        select(Run, Capture)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Run.id == run_id, visible_runs_clause(actor))
        .options(selectinload(Run.collectors))
        .execution_options(populate_existing=True)
    ).first()
    return (row[0], row[1]) if row is not None else None


def list_artifacts(session: Session, run_id: UUID) -> Sequence[Artifact]:
    """Return the artifacts of a run, of all attempts."""
    return session.scalars(select(Artifact).where(Artifact.run_id == run_id).order_by(Artifact.id)).all()


def list_profiles(session: Session, run_id: UUID) -> Sequence[Profile]:
    """Return the profiles of a run."""
    return session.scalars(select(Profile).where(Profile.run_id == run_id).order_by(Profile.id)).all()


def list_tables(session: Session, run_id: UUID) -> Sequence[ResultTable]:
    """Return the result tables of a run."""
    query = select(ResultTable).where(ResultTable.run_id == run_id).order_by(ResultTable.id)
    return session.scalars(query).all()


def list_removals(session: Session, run_id: UUID) -> Sequence[Removal]:
    """Return the records of data of a run that retention deleted."""
    query = select(Removal).where(Removal.run_id == run_id).order_by(Removal.at, Removal.kind)
    return session.scalars(query).all()


def list_chunk_summaries(session: Session, run_id: UUID) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return the summaries of all raw chunks of a run, without the look-back buffer; no chunk is decoded."""
    stored = exists().where(
        RunCollector.id == SeriesChunk.run_collector_id, RunCollector.collector == lookback.ID
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
        .where(SeriesChunk.run_id == run_id, SeriesChunk.level == 0, ~stored)
        .order_by(SeriesChunk.metric, SeriesChunk.id)
        .limit(MAX_CHUNKS)
    )
    return session.execute(query).all()


def list_events(session: Session, run_id: UUID) -> Sequence[StoredEvent]:
    """Return the events of a run in order of time."""
    query = (
        select(StoredEvent).where(StoredEvent.run_id == run_id).order_by(StoredEvent.t_ns).limit(MAX_EVENTS)
    )
    return session.scalars(query).all()


def find_artifact(
    session: Session, actor: Actor, artifact_id: UUID
) -> tuple[Artifact, Run, str | None] | None:
    """Return an artifact with its run and collector, or None if the run is not visible to the actor."""
    row = session.execute(
        select(Artifact, Run, RunCollector.collector)
        .join(Run, Run.id == Artifact.run_id)
        .outerjoin(RunCollector, RunCollector.id == Artifact.run_collector_id)
        .where(Artifact.id == artifact_id, visible_runs_clause(actor))
    ).first()
    return (row[0], row[1], row[2]) if row is not None else None
