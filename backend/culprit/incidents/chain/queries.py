"""Queries about hypotheses, pins and captures of steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, func, select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_runs_clause
from culprit.incidents.records.playbook_versions import CUSTOM_PLAYBOOK_ID
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.models.incidents.hypothesis import Hypothesis

Rows = Sequence[Row[*tuple[Any, ...]]]


def count_custom_hypotheses(session: Session, incident_id: UUID) -> int:
    """Count the hypotheses that users added to an incident."""
    custom = Hypothesis.key.startswith(f"{CUSTOM_PLAYBOOK_ID}/", autoescape=True)
    query = select(func.count()).select_from(Hypothesis).where(Hypothesis.incident_id == incident_id, custom)
    return session.scalars(query).one()


def list_run_ids(session: Session, capture_id: UUID) -> Sequence[UUID]:
    """List the runs of a capture."""
    return session.scalars(select(Run.id).where(Run.capture_id == capture_id)).all()


def list_peer_run_ids(session: Session, capture_ids: Collection[UUID], host_id: UUID) -> Sequence[UUID]:
    """List the runs of these captures on other hosts than this one, the oldest first."""
    query = select(Run.id).where(Run.capture_id.in_(capture_ids), Run.host_id != host_id)
    return session.scalars(query.order_by(Run.id)).all()


def find_visible_run(session: Session, actor: Actor, run_id: UUID) -> Run | None:
    """Return a run that is visible to this actor, or None."""
    return session.scalar(select(Run).where(Run.id == run_id, visible_runs_clause(actor)))


def list_visible_runs(session: Session, actor: Actor, ids: Collection[UUID]) -> Rows:
    """List (id, host_id, state, t0_ns, t1_ns, number, plan) of visible runs."""
    return session.execute(
        select(Run.id, Run.host_id, Run.state, Run.t0_ns, Run.t1_ns, Capture.number, Capture.plan)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Run.id.in_(ids), visible_runs_clause(actor))
    ).all()


def list_run_digests(session: Session, run_id: UUID) -> Sequence[str]:
    """List the digests of the artifacts of a run."""
    return session.scalars(select(Artifact.sha256).where(Artifact.run_id == run_id).distinct()).all()


def find_table(
    session: Session, actor: Actor, run_id: UUID, *, table_id: UUID | None, collector: str, kind: str
) -> Row[*tuple[Any, ...]] | None:
    """Return (table, host_id, sha256, collector) of a visible run, by ID or by collector and kind; else None."""
    query = (
        select(ResultTable, Run.host_id, Artifact.sha256, RunCollector.collector)
        .join(Run, Run.id == ResultTable.run_id)
        .outerjoin(Artifact, Artifact.id == ResultTable.artifact_id)
        .outerjoin(RunCollector, RunCollector.id == ResultTable.run_collector_id)
        .where(ResultTable.run_id == run_id, visible_runs_clause(actor))
        .order_by(ResultTable.id)
    )
    if table_id is not None:
        query = query.where(ResultTable.id == table_id)
    else:
        query = query.where(RunCollector.collector == collector, ResultTable.kind == kind)
    return session.execute(query.limit(1)).first()


def select_chunks(run_id: UUID, from_ns: int, to_ns: int) -> Select[SeriesChunk]:
    """Select the raw chunks of a run that overlap a time range."""
    return select(SeriesChunk).where(
        SeriesChunk.run_id == run_id,
        SeriesChunk.level == 0,
        SeriesChunk.t0_ns <= to_ns,
        SeriesChunk.t1_ns >= from_ns,
    )


def list_metrics(session: Session, chunks: Select[SeriesChunk]) -> Sequence[str]:
    """List the metrics of these chunks."""
    return session.scalars(chunks.with_only_columns(SeriesChunk.metric).distinct()).all()


def list_chunk_digests(session: Session, chunks: Select[SeriesChunk], limit: int) -> Sequence[str]:
    """List the digests of the artifacts of these chunks, at most `limit`."""
    ids = chunks.with_only_columns(SeriesChunk.artifact_id)
    query = select(Artifact.sha256).where(Artifact.id.in_(ids)).distinct().order_by(Artifact.sha256)
    return session.scalars(query.limit(limit)).all()
