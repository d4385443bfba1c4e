"""Finds what fell between the chairs: lost workers, lost messages, runs that waited too long.

The broker may lose everything at any time; what is to be done stands in the database, and this rings for it
again. Several sweepers at once do no harm: rows are taken with SKIP LOCKED, every change is by comparison,
and a doorbell that rings twice is answered once.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from redis import Redis
from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.orm import Session

from collectors.plans import tier_of
from collectors.registry import COLLECTORS
from culprit.captures.leases import settle_capture
from culprit.core.retries import Tried, pause_s
from culprit.imports import upload_claims
from culprit.infra.db import Database
from culprit.infra.progress import Publisher
from culprit.kit.unit_of_work import after_commit, unit_of_work
from culprit.models import (
    Alert,
    Capture,
    GrafanaAnnotation,
    Notice,
    Preflight,
    Run,
    RunCollector,
    Standby,
    StorageLook,
    TriggerDelivery,
)
from culprit.workflows.doorbells import doorbells, ring

BATCH = 100
QUEUE_LIMIT = timedelta(hours=1)
KEEP_ALERTS = timedelta(days=90)
CHECK_LIMIT = timedelta(minutes=10)
MEASURE_EVERY = timedelta(hours=1)
Json = dict[str, Any]
log = structlog.get_logger("culprit.sweep")

_now = func.clock_timestamp


def sweep(db: Database, redis: Redis, publisher: Publisher) -> None:
    """One round of everything. Raises DBAPIError while the database is away."""
    with unit_of_work(db.sessions) as session:
        expire_leases(session, publisher)
    with unit_of_work(db.sessions) as session:
        expire_waiting(session, publisher)
        expire_standbys(session)
        fail_stuck_checks(session)
        upload_claims.free_lapsed(session)
        forget_old(session)
        measure_again(session)
    with db.sessions() as session:
        waiting = doorbells(session)
    ring(redis, waiting)


def expire_leases(session: Session, publisher: Publisher) -> int:
    """Runs whose worker was not heard of for a whole lease: again into the queue, or to their end."""
    query = (
        select(Run)
        .where(Run.state == "running", Run.lease_until < _now())
        .order_by(Run.lease_until)
        .limit(BATCH)
        .with_for_update(of=Run, key_share=True, skip_locked=True)
    )
    lost = session.scalars(query).all()
    for run in sorted(lost, key=lambda one: (one.capture_id, one.id)):
        _take_from_the_lost(session, run)
        settle_capture(session, run.capture_id)
        _tell_later(session, publisher, run)
    if lost:
        log.warning("leases_expired", runs=[str(run.id) for run in lost])
    return len(lost)


def _take_from_the_lost(session: Session, run: Run) -> None:
    capture = session.get_one(Capture, run.capture_id)
    tier = tier_of(one["id"] for one in capture.collectors if one["id"] in COLLECTORS)
    losses = run.worker_losses + 1
    pause = pause_s(Tried("worker", tier, losses, run.host_failures, begun=True))
    values: Json = {"fence": Run.fence + 1, "lease_until": None, "worker_losses": losses, "progress": None}
    outcome = "queued"
    if run.cancel_requested_at is not None:
        values |= {"state": "cancelled", "ended_at": _now()}
        outcome = "cancelled"
    elif pause is None:
        key = "run.worker_lost_expensive" if losses == 1 else "run.worker_lost"
        failure = {"key": key, "params": {"tier": str(tier), "times": losses}}
        values |= {"state": "failed", "ended_at": _now(), "failure": failure, "failure_side": "worker"}
        outcome = "failed"
    else:
        waiting = {"key": "run.worker_lost_again", "params": {"times": losses}}
        values |= {"state": "queued", "not_before": _now() + timedelta(seconds=pause), "waiting": waiting}
    _update(session, run.id, **values)
    session.execute(
        update(RunCollector)
        .where(RunCollector.run_id == run.id)
        .values(state=outcome, reason=None)
        .execution_options(synchronize_session=False)
    )


def expire_waiting(session: Session, publisher: Publisher) -> int:
    """Runs that nobody started in an hour: what they were wanted for is over."""
    query = (
        select(Run)
        .where(Run.state == "queued", Run.queued_at < _now() - QUEUE_LIMIT)
        .order_by(Run.queued_at)
        .limit(BATCH)
        .with_for_update(of=Run, key_share=True, skip_locked=True)
    )
    waited = session.scalars(query).all()
    for run in sorted(waited, key=lambda one: (one.capture_id, one.id)):
        minutes = int(QUEUE_LIMIT.total_seconds() // 60)
        failure = run.failure or {"key": "run.expired", "params": {"minutes": minutes}}
        _update(session, run.id, state="expired", ended_at=_now(), failure=failure, waiting=None)
        session.execute(
            update(RunCollector)
            .where(RunCollector.run_id == run.id)
            .values(state="cancelled")
            .execution_options(synchronize_session=False)
        )
        settle_capture(session, run.capture_id)
        _tell_later(session, publisher, run)
    return len(waited)


def expire_standbys(session: Session) -> None:
    """What waits on hosts and lost its worker: to be begun again, or over. Also what nobody began in its time."""
    lost = (Standby.state == "watching", Standby.lease_until < _now())
    over = or_(Standby.cancel_requested_at.is_not(None), Standby.until < _now())
    ended: Json = {"lease_until": None, "waiting": None, "fence": Standby.fence + 1, "ended_at": _now()}
    changes: list[tuple[tuple[ColumnElement[bool], ...], Json]] = [
        ((*lost, Standby.cancel_requested_at.is_not(None)), {"state": "cancelled", **ended}),
        ((*lost, Standby.until < _now()), {"state": "expired", **ended}),
        (
            (*lost, ~over),
            {
                "state": "waiting",
                "lease_until": None,
                "started_at": None,
                "cost": None,
                "readings": None,
                "fence": Standby.fence + 1,
                "interrupted": Standby.interrupted + 1,
                "waiting": {"key": "standby.worker_lost", "params": {}},
            },
        ),
        ((Standby.state == "waiting", Standby.until < _now()), {"state": "expired", **ended}),
    ]
    for which, values in changes:
        session.execute(
            update(Standby).where(*which).values(**values).execution_options(synchronize_session=False)
        )


def fail_stuck_checks(session: Session) -> None:
    """Checks of hosts have no lease; one that nobody finished in ten minutes was lost with its worker."""
    session.execute(
        update(Preflight)
        .where(Preflight.state.in_(("queued", "running")), Preflight.at < _now() - CHECK_LIMIT)
        .values(state="failed", ended_at=_now(), failure={"key": "preflight.lost", "params": {}})
        .execution_options(synchronize_session=False)
    )


def forget_old(session: Session) -> None:
    """Requests that triggers could not be sent again by now, and alerts and messages that nobody looks for any more."""
    session.execute(delete(TriggerDelivery).where(TriggerDelivery.until < _now()))
    old = select(Alert.id).where(Alert.last_at < _now() - KEEP_ALERTS).limit(BATCH)
    session.execute(delete(Alert).where(Alert.id.in_(old)).execution_options(synchronize_session=False))
    said = (
        select(Notice.id)
        .where(Notice.state != "queued", Notice.created_at < _now() - KEEP_ALERTS)
        .limit(BATCH)
    )
    session.execute(delete(Notice).where(Notice.id.in_(said)).execution_options(synchronize_session=False))
    drawn = (
        select(GrafanaAnnotation.id)
        .where(GrafanaAnnotation.state != "queued", GrafanaAnnotation.not_before < _now() - KEEP_ALERTS)
        .limit(BATCH)
    )
    session.execute(
        delete(GrafanaAnnotation)
        .where(GrafanaAnnotation.id.in_(drawn))
        .execution_options(synchronize_session=False)
    )
    looks = select(StorageLook.id).where(StorageLook.created_at < _now() - KEEP_ALERTS).limit(BATCH)
    session.execute(
        delete(StorageLook).where(StorageLook.id.in_(looks)).execution_options(synchronize_session=False)
    )


def _update(session: Session, run_id: UUID, **values: Any) -> None:
    session.execute(
        update(Run).where(Run.id == run_id).values(**values).execution_options(synchronize_session=False)
    )


def _tell_later(session: Session, publisher: Publisher, run: Run) -> None:
    capture_id, run_id = run.capture_id, run.id
    after_commit(session, lambda: publisher.publish(capture_id, "run", {"run": str(run_id)}))


def measure_again(session: Session) -> None:
    """Has the storage measured every hour: how large it is by day is what growth and limits are read from."""
    lately = select(StorageLook.id).where(
        StorageLook.kind == "measure", StorageLook.created_at > _now() - MEASURE_EVERY
    )
    if session.scalar(lately.limit(1)) is None:
        session.add(StorageLook(kind="measure"))
