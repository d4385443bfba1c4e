"""What waits in the database for a task, and the broker that is told of it once more.

The broker may lose everything at any time: a doorbell that rings twice is answered once, and one that never rang is
rung here.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import structlog
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.orm import Session

from culprit.captures.leases import due
from culprit.core.usual import PROM_USUAL
from culprit.imports.sources import PROM_IMPORT
from culprit.infra.broker import QUEUES, send
from culprit.models import (
    Diagnosis,
    Evaluation,
    Firing,
    GrafanaAnnotation,
    Incident,
    IncidentOrigin,
    IncidentRun,
    Notice,
    Preflight,
    RetentionPolicy,
    Rotation,
    Run,
    RunCollector,
    StorageLook,
    Verification,
)
from culprit.workflows import builds
from culprit.workflows.readiness import BEFORE_PROFILES, profiles_to_come

BATCH = 100
RING_AGAIN_S = 8
FULL_QUEUE = 200
READ_AGAIN = timedelta(seconds=120)
EVALUATE_AFTER = timedelta(seconds=5)
EVALUATE_WITHIN = timedelta(days=1)
LOOK_LIMIT = timedelta(minutes=30)
log = structlog.get_logger("culprit.sweep")

_now = func.clock_timestamp


def doorbells(session: Session) -> list[tuple[str, UUID]]:
    """Everything that waits for a task, the oldest first."""
    unread = or_(Run.ingest_attempts == 0, Run.heartbeat_at < _now() - READ_AGAIN)
    queries = {
        "culprit.run_capture": select(Run.id).where(due()).order_by(Run.queued_at),
        "culprit.ingest_run": select(Run.id).where(Run.state == "ingesting", unread),
        "culprit.fetch_service": select(RunCollector.run_id).where(
            RunCollector.collector == PROM_IMPORT, RunCollector.state == "queued"
        ),
        "culprit.fetch_usual": select(RunCollector.run_id).where(
            RunCollector.collector == PROM_USUAL, RunCollector.state == "queued"
        ),
        "culprit.check_host": select(Preflight.id).where(Preflight.state == "queued"),
        "culprit.evaluate_run": _unevaluated(),
        "culprit.advance_diagnosis": select(Diagnosis.id).where(Diagnosis.state == "running"),
        "culprit.advance_verification": select(Verification.id).where(
            Verification.state.in_(("before", "collecting", "judging"))
        ),
        "culprit.tell_incidents": _untold(),
        "culprit.compare_carried": select(IncidentOrigin.incident_id).where(
            IncidentOrigin.compared.is_(None), IncidentOrigin.imported_at > _now() - EVALUATE_WITHIN
        ),
        "culprit.advance_incident": select(Incident.id).where(
            Incident.autopilot["state"].astext == "running"
        ),
        "culprit.fetch_oncall": select(Rotation.id).where(Rotation.fetch_after <= _now()),
        "culprit.tell_firing": select(Firing.diagnosis_id)
        .join(Diagnosis, Diagnosis.id == Firing.diagnosis_id)
        .where(Firing.told_at.is_(None), Diagnosis.state != "running"),
        "culprit.send_annotation": select(GrafanaAnnotation.id)
        .where(GrafanaAnnotation.state == "queued", GrafanaAnnotation.not_before <= _now())
        .order_by(GrafanaAnnotation.not_before),
        "culprit.retain": select(RetentionPolicy.id).where(RetentionPolicy.due_at <= _now()),
        "culprit.look_at_storage": _unlooked(),
        "culprit.send_notice": select(Notice.id)
        .where(Notice.state == "queued", Notice.not_before <= _now())
        .order_by(Notice.not_before),
    }
    for what, name in builds.TASKS.items():
        abandoned = and_(what.state == "running", what.started_at < _now() - builds.STALE_AFTER)
        queries[name] = select(what.id).where(or_(what.state == "queued", abandoned))
    return [
        (name, one) for name, query in queries.items() for one in session.scalars(query.limit(BATCH)).all()
    ]


def _unlooked() -> Select[UUID]:
    """Looks at the storage that nobody has begun, or whose worker was lost."""
    lost = and_(StorageLook.state == "running", StorageLook.started_at < _now() - LOOK_LIMIT)
    return select(StorageLook.id).where(or_(StorageLook.state == "queued", lost))


def _unevaluated() -> Select[UUID]:
    """Runs that were read lately and that no rule was asked about, or none since their profiles came."""
    return (
        select(Run.id)
        .outerjoin(Evaluation, Evaluation.run_id == Run.id)
        .where(
            Run.state.in_(("done", "partial")),
            func.greatest(Run.ended_at, Run.heartbeat_at).between(
                _now() - EVALUATE_WITHIN, _now() - EVALUATE_AFTER
            ),
            or_(
                Evaluation.run_id.is_(None),
                and_(Evaluation.ranking.has_key(BEFORE_PROFILES), ~profiles_to_come(Run.id)),
            ),
        )
    )


def _untold() -> Select[UUID]:
    """Runs that were evaluated lately, and that an incident looks at whose journal does not know it yet."""
    return (
        select(IncidentRun.run_id)
        .join(Evaluation, Evaluation.run_id == IncidentRun.run_id)
        .where(
            Evaluation.at.between(_now() - EVALUATE_WITHIN, _now() - EVALUATE_AFTER),
            or_(IncidentRun.told_at.is_(None), IncidentRun.told_at < Evaluation.at),
        )
        .distinct()
    )


def ring(redis: Redis, waiting: list[tuple[str, UUID]]) -> int:
    """Rings for each that was not rung for lately; the note of that lies in the broker and is lost with it.

    A queue that is long already is not made longer: its workers are busy, and what waits is not forgotten.
    """
    rung = 0
    try:
        room = {queue: FULL_QUEUE - int(str(redis.llen(queue))) for queue in set(QUEUES.values())}
        for name, one in waiting:
            queue = QUEUES[name]
            if room[queue] > 0 and redis.set(f"rung:{name}:{one}", 1, nx=True, ex=RING_AGAIN_S):
                room[queue] -= 1
                rung += send(name, one)
    except (RedisError, OSError) as error:
        log.warning("broker_away", error=type(error).__name__)
    return rung
