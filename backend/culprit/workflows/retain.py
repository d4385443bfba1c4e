"""Deletes what is older than its policy allows, in batches: the task `culprit.retain`, one policy at a time.

May run twice and at once: a policy's row is taken with SKIP LOCKED, every batch is one transaction that also moves the
cursor on, and deleting again what is gone changes nothing.
"""

from __future__ import annotations

import time
from uuid import UUID

import structlog
from sqlalchemy import select

from culprit.infra.artifacts import ArtifactStore, artifact_store
from culprit.infra.db import Database, database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import RetentionPolicy
from culprit.storage.retain import drain, remove_batch

#: So long a worker stays at it; then others have their turn, and the sweeper rings again.
TURN_S = 20.0
log = structlog.get_logger("culprit.retain")


def retain(policy_id: UUID) -> int | None:
    """Batch after batch of one policy. Returns how many rows went, None where it was not due or is being worked on."""
    return take_turn(database(), artifact_store(), policy_id, TURN_S)


def take_turn(db: Database, store: ArtifactStore, policy_id: UUID, turn_s: float) -> int | None:
    """See `retain`."""
    until = time.monotonic() + turn_s
    total: int | None = None
    while True:
        items = one_batch(db, policy_id)
        if items is None:
            break
        total = (total or 0) + items
        if time.monotonic() >= until:
            break
    with unit_of_work(db.sessions) as session:
        gone, kept = drain(session, store, now())
    if total or gone:
        log.info("retention", policy=str(policy_id), rows=total, blobs=gone, blobs_kept=kept)
    return total


def one_batch(db: Database, policy_id: UUID) -> int | None:
    """One batch in one transaction; None where nothing is due."""
    with unit_of_work(db.sessions) as session:
        query = select(RetentionPolicy).where(
            RetentionPolicy.id == policy_id, RetentionPolicy.due_at <= now()
        )
        policy = session.scalar(query.with_for_update(skip_locked=True))
        return remove_batch(session, policy, now()).items if policy is not None else None
