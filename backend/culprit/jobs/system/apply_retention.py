"""The job that applies one retention policy in batches.

It may run twice and concurrently: a policy's row is locked with SKIP LOCKED, every batch is one transaction
that also moves the cursor, and deleting again changes nothing.
"""

from __future__ import annotations

import time
from uuid import UUID

import structlog

from culprit.evidence.retention.retain import delete_pending_blobs, remove_batch
from culprit.infra.artifacts.store import ArtifactStore, artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database, get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.jobs.job import Job
from culprit.jobs.system.locks import lock_due_policy
from culprit.jobs.system.queries import pending_policies

#: Maximum seconds of one job; then others run, and the sweep enqueues the policy again.
TURN_S = 20.0
log = structlog.get_logger("culprit.apply_retention")


def apply_retention(policy_id: UUID) -> int | None:
    """Apply one policy. Return the number of deleted rows, or None if it was not due or locked."""
    return run_batches(get_database(), artifact_store(), policy_id, TURN_S)


def run_batches(db: Database, store: ArtifactStore, policy_id: UUID, turn_s: float) -> int | None:
    """Run batches until `turn_s` has passed; see `apply_retention`."""
    until = time.monotonic() + turn_s
    total: int | None = None
    while True:
        items = run_batch(db, policy_id)
        if items is None:
            break
        total = (total or 0) + items
        if time.monotonic() >= until:
            break
    with unit_of_work(db.sessions) as session:
        gone, stored = delete_pending_blobs(session, store, utc_now())
    if total or gone:
        log.info("retention", policy=str(policy_id), rows=total, blobs=gone, blobs_kept=stored)
    return total


def run_batch(db: Database, policy_id: UUID) -> int | None:
    """Run one batch in one transaction; return None if nothing is due."""
    with unit_of_work(db.sessions) as session:
        policy = lock_due_policy(session, policy_id, utc_now())
        return remove_batch(session, policy, utc_now()).items if policy is not None else None


JOB = Job("culprit.apply_retention", "parse", apply_retention, pending_policies)
