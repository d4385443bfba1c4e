"""Recover lost work: lost workers, lost messages, runs that waited too long.

The broker may lose everything at any time; the database holds all state, and the sweep enqueues pending work
again. Concurrent sweeps are safe: rows are locked with SKIP LOCKED, every change is a compare-and-set, and a
repeated message does nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from redis import Redis
from sqlalchemy import ColumnElement, delete, func, or_, update
from sqlalchemy.orm import Session

from collectors.plans import highest_tier
from collectors.registry import COLLECTORS
from culprit.captures.locks import settle_capture
from culprit.captures.uploads import locks as claims
from culprit.domain.runs.retries import AttemptHistory, compute_retry_pause_s
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import after_commit, unit_of_work
from culprit.infra.event_stream import EventPublisher
from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.automation.trigger_delivery import TriggerDelivery
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.hosts.preflight import Preflight
from culprit.infra.models.notifications.grafana_annotation import GrafanaAnnotation
from culprit.infra.models.notifications.notification import Notification
from culprit.infra.models.system.storage_check import StorageCheck
from culprit.jobs.system.clock_steps import DatabaseClock
from culprit.jobs.system.locks import lock_expired_runs, lock_stale_queued_runs
from culprit.jobs.system.pending_jobs import enqueue_pending, forget_messages, list_pending_jobs
from culprit.jobs.system.queries import (
    has_recent_measurement,
    select_old_alerts,
    select_old_annotations,
    select_old_notifications,
    select_old_storage_checks,
)
from culprit.json_types import Json

BATCH = 100
QUEUE_LIMIT = timedelta(hours=1)
ALERT_RETENTION = timedelta(days=90)
CHECK_LIMIT = timedelta(minutes=10)
MEASURE_EVERY = timedelta(hours=1)
log = structlog.get_logger("culprit.sweep")

_now = func.clock_timestamp


def run_sweep(
    db: Database, redis: Redis, publisher: EventPublisher, clock: DatabaseClock | None = None
) -> None:
    """Run all steps once. With `clock`, absorb steps of the database's clock first.

    Raises DBAPIError while the database is unreachable.
    """
    latest = None
    if clock is not None:
        with unit_of_work(db.sessions) as session:
            step, latest = clock.absorb_step(session)
        if step:
            forget_messages(redis)  # the broker measures their age with a clock that was set, too
    with unit_of_work(db.sessions) as session:
        expire_leases(session, publisher, latest)
    with unit_of_work(db.sessions) as session:
        expire_queued_runs(session, publisher, latest)
        expire_watchers(session)
        fail_stuck_checks(session)
        claims.release_expired(session)
        delete_expired_rows(session)
        enqueue_measurement(session)
    with db.sessions() as session:
        waiting = list_pending_jobs(session)
    enqueue_pending(redis, waiting)


def expire_leases(session: Session, publisher: EventPublisher, latest: datetime | None = None) -> int:
    """Release runs whose worker sent no heartbeat for a whole lease: requeue or end them."""
    lost = lock_expired_runs(session, BATCH, latest)
    for run in sorted(lost, key=lambda item: (item.capture_id, item.id)):
        _release_lost_run(session, run)
        settle_capture(session, run.capture_id)
        _publish_after_commit(session, publisher, run)
    if lost:
        log.warning("leases_expired", runs=[str(run.id) for run in lost])
    return len(lost)


def _release_lost_run(session: Session, run: Run) -> None:
    capture = session.get_one(Capture, run.capture_id)
    tier = highest_tier(collector["id"] for collector in capture.collectors if collector["id"] in COLLECTORS)
    losses = run.worker_losses + 1
    pause = compute_retry_pause_s(AttemptHistory("worker", tier, losses, run.host_failures, begun=True))
    values: Json = {"fence": Run.fence + 1, "lease_until": None, "worker_losses": losses, "progress": None}
    outcome = "queued"
    if run.cancel_requested_at is not None:
        values |= {"state": "canceled", "ended_at": _now()}
        outcome = "canceled"
    elif pause is None:
        key = "run.worker_lost_expensive" if losses == 1 else "run.worker_lost"
        failure = {"key": key, "params": {"tier": str(tier), "times": losses}}
        values |= {"state": "failed", "ended_at": _now(), "failure": failure, "failure_side": "worker"}
        outcome = "failed"
    else:
        waiting = {"key": "run.worker_lost_again", "params": {"times": losses}}
        values |= {"state": "queued", "queued_at": _now(), "waiting": waiting}
        values |= {"not_before": _now() + timedelta(seconds=pause)}
    _update(session, run.id, **values)
    session.execute(
        update(RunCollector)
        .where(RunCollector.run_id == run.id)
        .values(state=outcome, reason=None)
        .execution_options(synchronize_session=False)
    )


def expire_queued_runs(session: Session, publisher: EventPublisher, latest: datetime | None = None) -> int:
    """End runs that did not start within an hour."""
    waited = lock_stale_queued_runs(session, QUEUE_LIMIT, BATCH, latest)
    for run in sorted(waited, key=lambda item: (item.capture_id, item.id)):
        minutes = int(QUEUE_LIMIT.total_seconds() // 60)
        failure = run.failure or {"key": "run.expired", "params": {"minutes": minutes}}
        _update(session, run.id, state="expired", ended_at=_now(), failure=failure, waiting=None)
        session.execute(
            update(RunCollector)
            .where(RunCollector.run_id == run.id)
            .values(state="canceled")
            .execution_options(synchronize_session=False)
        )
        settle_capture(session, run.capture_id)
        _publish_after_commit(session, publisher, run)
    return len(waited)


def expire_watchers(session: Session) -> None:
    """Requeue or end watchers whose worker was lost, and end those that did not start in time."""
    lost = (Watcher.state == "watching", Watcher.lease_until < _now())
    over = or_(Watcher.cancel_requested_at.is_not(None), Watcher.expires_at < _now())
    ended: Json = {"lease_until": None, "wait_reason": None, "fence": Watcher.fence + 1, "ended_at": _now()}
    changes: list[tuple[tuple[ColumnElement[bool], ...], Json]] = [
        ((*lost, Watcher.cancel_requested_at.is_not(None)), {"state": "canceled", **ended}),
        ((*lost, Watcher.expires_at < _now()), {"state": "expired", **ended}),
        (
            (*lost, ~over),
            {
                "state": "waiting",
                "lease_until": None,
                "started_at": None,
                "cost": None,
                "readings": None,
                "fence": Watcher.fence + 1,
                "interruption_count": Watcher.interruption_count + 1,
                "wait_reason": {"key": "watcher.worker_lost", "params": {}},
            },
        ),
        ((Watcher.state == "waiting", Watcher.expires_at < _now()), {"state": "expired", **ended}),
    ]
    for which, values in changes:
        session.execute(
            update(Watcher).where(*which).values(**values).execution_options(synchronize_session=False)
        )


def fail_stuck_checks(session: Session) -> None:
    """Fail preflight checks that did not finish within ten minutes; they have no lease."""
    session.execute(
        update(Preflight)
        .where(Preflight.state.in_(("queued", "running")), Preflight.at < _now() - CHECK_LIMIT)
        .values(state="failed", ended_at=_now(), failure={"key": "preflight.lost", "params": {}})
        .execution_options(synchronize_session=False)
    )


def delete_expired_rows(session: Session) -> None:
    """Delete requests that triggers can no longer receive twice, and old alerts and messages."""
    session.execute(delete(TriggerDelivery).where(TriggerDelivery.until < _now()))
    old = select_old_alerts(ALERT_RETENTION, BATCH)
    session.execute(delete(Alert).where(Alert.id.in_(old)).execution_options(synchronize_session=False))
    message = select_old_notifications(ALERT_RETENTION, BATCH)
    session.execute(
        delete(Notification).where(Notification.id.in_(message)).execution_options(synchronize_session=False)
    )
    rendered = select_old_annotations(ALERT_RETENTION, BATCH)
    session.execute(
        delete(GrafanaAnnotation)
        .where(GrafanaAnnotation.id.in_(rendered))
        .execution_options(synchronize_session=False)
    )
    checks = select_old_storage_checks(ALERT_RETENTION, BATCH)
    session.execute(
        delete(StorageCheck).where(StorageCheck.id.in_(checks)).execution_options(synchronize_session=False)
    )


def _update(session: Session, run_id: UUID, **values: Any) -> None:
    session.execute(
        update(Run).where(Run.id == run_id).values(**values).execution_options(synchronize_session=False)
    )


def _publish_after_commit(session: Session, publisher: EventPublisher, run: Run) -> None:
    capture_id, run_id = run.capture_id, run.id
    after_commit(session, lambda: publisher.publish(capture_id, "run", {"run": str(run_id)}))


def enqueue_measurement(session: Session) -> None:
    """Request a measurement of the storage every hour; growth and limits are computed from these."""
    if not has_recent_measurement(session, MEASURE_EVERY):
        session.add(StorageCheck(kind="measure"))
