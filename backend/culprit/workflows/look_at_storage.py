"""Measures the storage, or holds rows and bytes against each other: the task `culprit.look_at_storage`."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy import select

from culprit.infra.artifacts import ArtifactStore, artifact_store
from culprit.infra.db import Database, database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import StorageLook
from culprit.storage.check import check
from culprit.storage.measure import measure

STALE = timedelta(minutes=30)


def look_at_storage(look_id: UUID) -> str | None:
    """One look. Returns its kind, None where there was nothing to do."""
    return look(database(), artifact_store(), look_id)


def look(db: Database, store: ArtifactStore, look_id: UUID) -> str | None:
    """See `look_at_storage`."""
    with unit_of_work(db.sessions) as session:
        row = session.scalar(
            select(StorageLook).where(StorageLook.id == look_id).with_for_update(skip_locked=True)
        )
        if row is None or row.state in {"done", "failed"}:
            return None
        if row.state == "running" and row.started_at and row.started_at > now() - STALE:
            return None
        row.state, row.started_at = "running", now()
        kind = row.kind
    with unit_of_work(db.sessions) as session:
        result = measure(session, store) if kind == "measure" else check(session, store)
        row = session.get_one(StorageLook, look_id)
        row.result, row.state, row.ended_at = result, "done", now()
    return kind
