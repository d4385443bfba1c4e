"""Select the runs and preflight checks that wait for a worker."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ScalarSelect, Select, exists, select
from sqlalchemy.orm import Session

from culprit.automation.watchers.locks import is_due as is_watcher_due
from culprit.captures.locks import is_due
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.preflight import Preflight
from culprit.json_types import Json


def pending_runs() -> Select[UUID]:
    """Select the runs that are due, the oldest first."""
    return select(Run.id).where(is_due()).order_by(Run.queued_at)


def pending_watchers() -> Select[UUID]:
    """Select the watchers that are due, the oldest first."""
    return select(Watcher.id).where(is_watcher_due()).order_by(Watcher.created_at)


def pending_checks() -> Select[UUID]:
    """Select the queued preflight checks."""
    return select(Preflight.id).where(Preflight.state == "queued")


def list_run_collectors(session: Session, run_id: UUID) -> Sequence[RunCollector]:
    """Return the collectors of a run."""
    return session.scalars(select(RunCollector).where(RunCollector.run_id == run_id)).all()


def select_host_id(run_id: UUID) -> ScalarSelect[UUID | None]:
    """Select the host of a run."""
    return select(Run.host_id).where(Run.id == run_id).scalar_subquery()


def load_last_timings(session: Session, host: Host) -> Json:
    """Return the timings of the latest successful preflight check."""
    query = (
        select(Preflight.timings)
        .where(Preflight.host_id == host.id, Preflight.state == "done")
        .order_by(Preflight.at.desc())
        .limit(1)
    )
    return session.scalar(query) or {}


def load_canceled_ids(session: Session, run_ids: Sequence[UUID], watcher_ids: Sequence[UUID]) -> set[UUID]:
    """Return which of these runs and watchers a user has canceled."""
    queries: list[Select[UUID]] = []
    if run_ids:
        queries.append(select(Run.id).where(Run.id.in_(run_ids), Run.cancel_requested_at.is_not(None)))
    if watcher_ids:
        canceled = Watcher.cancel_requested_at.is_not(None)
        queries.append(select(Watcher.id).where(Watcher.id.in_(watcher_ids), canceled))
    return {row_id for query in queries for row_id in session.scalars(query)}


def has_unfinished_runs(session: Session, watcher_id: UUID) -> bool:
    """Return whether a capture of a watcher is queued or running."""
    unfinished = exists().where(
        Run.state.in_(("queued", "running")),
        Run.capture_id.in_(select(Capture.id).where(Capture.watcher_id == watcher_id)),
    )
    return bool(session.scalar(select(unfinished)))
