"""Lock the rows that the jobs of the system change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from culprit.infra.models.captures.run import Run
from culprit.infra.models.system.blob_check import BlobCheck
from culprit.infra.models.system.retention_policy import RetentionPolicy
from culprit.infra.models.system.storage_check import StorageCheck

_now = func.clock_timestamp


def lock_due_policy(session: Session, policy_id: UUID, at: datetime) -> RetentionPolicy | None:
    """Return a retention policy that is due, locked, or None."""
    query = select(RetentionPolicy).where(RetentionPolicy.id == policy_id, RetentionPolicy.due_at <= at)
    return session.scalar(query.with_for_update(skip_locked=True))


def lock_storage_check(session: Session, check_id: UUID) -> StorageCheck | None:
    """Return a storage check, locked, or None."""
    query = select(StorageCheck).where(StorageCheck.id == check_id)
    return session.scalar(query.with_for_update(skip_locked=True))


def lock_due_check(session: Session, before: datetime, altered_before: datetime) -> BlobCheck | None:
    """Return the check of a file that was read before `before`, else of an altered one, locked, or None."""
    due = select(BlobCheck).where(BlobCheck.checked_at < before)
    altered = select(BlobCheck).where(
        BlobCheck.altered_at.is_not(None), BlobCheck.checked_at < altered_before
    )
    for query in (due, altered):
        oldest = query.order_by(BlobCheck.checked_at).limit(1)
        check = session.scalar(oldest.with_for_update(skip_locked=True))
        if check is not None:
            return check
    return None


def lock_expired_runs(session: Session, limit: int, latest: datetime | None = None) -> Sequence[Run]:
    """Return running runs whose lease has expired, locked; with `latest`, it has expired before that time."""
    at = _now() if latest is None else func.least(_now(), latest)
    query = select(Run).where(Run.state == "running", Run.lease_until < at).order_by(Run.lease_until)
    return session.scalars(query.limit(limit).with_for_update(of=Run, key_share=True, skip_locked=True)).all()


def lock_stale_queued_runs(
    session: Session, age: timedelta, limit: int, latest: datetime | None = None
) -> Sequence[Run]:
    """Return runs that have been queued longer than `age`, locked; with `latest`, at that time."""
    at = _now() if latest is None else func.least(_now(), latest)
    query = select(Run).where(Run.state == "queued", Run.queued_at < at - age).order_by(Run.queued_at)
    return session.scalars(query.limit(limit).with_for_update(of=Run, key_share=True, skip_locked=True)).all()
