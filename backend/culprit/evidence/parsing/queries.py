"""SELECTs of collectors and artifacts to parse."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact


def list_collectors(
    session: Session, run_id: UUID, states: Collection[str], only: UUID | None = None
) -> Sequence[RunCollector]:
    """Return the collectors of a run in these states, or only the one with the ID `only`."""
    query = select(RunCollector).where(RunCollector.run_id == run_id, RunCollector.state.in_(states))
    if only is not None:
        query = query.where(RunCollector.id == only)
    return session.scalars(query.order_by(RunCollector.id)).all()


def list_latest_artifacts(session: Session, run_collector_id: UUID) -> list[Artifact]:
    """Return the parts of the last attempt. Parts of earlier attempts are stored but not parsed."""
    rows = session.scalars(
        select(Artifact).where(Artifact.run_collector_id == run_collector_id).order_by(Artifact.id)
    ).all()
    last = max((row.attempt for row in rows), default=0)
    return [row for row in rows if row.attempt == last]
