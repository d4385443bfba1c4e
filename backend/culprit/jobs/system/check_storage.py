"""The job that measures the storage and lists its files for `check_files`, or compares rows and files."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from culprit.evidence.retention.blob_checks import sync_checks
from culprit.evidence.retention.check import check_consistency
from culprit.evidence.retention.measure import measure_storage
from culprit.infra.artifacts.store import ArtifactStore, artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database, get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.system.storage_check import StorageCheck
from culprit.jobs.job import Job
from culprit.jobs.system.locks import lock_storage_check
from culprit.jobs.system.queries import pending_storage_checks

MAX_MEASUREMENT_AGE = timedelta(minutes=30)


def check_storage(check_id: UUID) -> str | None:
    """Run one check. Return its kind, or None if there was nothing to do."""
    return run_check(get_database(), artifact_store(), check_id)


def run_check(db: Database, store: ArtifactStore, check_id: UUID) -> str | None:
    """Run one check over this database and store; see `check_storage`."""
    with unit_of_work(db.sessions) as session:
        row = lock_storage_check(session, check_id)
        if row is None or row.state in {"done", "failed"}:
            return None
        if row.state == "running" and row.started_at and row.started_at > utc_now() - MAX_MEASUREMENT_AGE:
            return None
        row.state, row.started_at = "running", utc_now()
        kind = row.kind
    if kind == "measure":
        with unit_of_work(db.sessions) as session:
            sync_checks(session)
    with unit_of_work(db.sessions) as session:
        result = measure_storage(session, store) if kind == "measure" else check_consistency(session, store)
        row = session.get_one(StorageCheck, check_id)
        row.result, row.state, row.ended_at = result, "done", utc_now()
    return kind


JOB = Job("culprit.check_storage", "parse", check_storage, pending_storage_checks)
