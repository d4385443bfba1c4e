"""Manage storage: retention policies, previews, use and forecasts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, get_args
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.evidence.retention import queries
from culprit.evidence.retention.blob_checks import build_file_checks
from culprit.evidence.retention.check import delete_orphans
from culprit.evidence.retention.citation_queries import find_cited_runs
from culprit.evidence.retention.deletion_queries import COMPARISON_COLUMNS
from culprit.evidence.retention.retain import compute_cutoff
from culprit.evidence.retention.schemas import (
    ConsistencyResult,
    DiskSpace,
    OrphanDeletionResponse,
    RetentionKind,
    RetentionLimits,
    RetentionPolicyResponse,
    RetentionPolicyUpdate,
    RetentionPreviewResponse,
    StorageCheckRequest,
    StorageCheckResponse,
    StorageForecast,
    StorageMeasurement,
    StorageResponse,
)
from culprit.infra.artifacts.store import ArtifactStore, BucketStore
from culprit.infra.db.clock import utc_now
from culprit.infra.models.system.retention_policy import RetentionPolicy
from culprit.infra.models.system.storage_check import StorageCheck
from culprit.infra.task_queue import enqueue_after_commit
from culprit.web.errors import ForbiddenError, NotFoundError

KINDS: tuple[RetentionKind, ...] = get_args(RetentionKind)
RESOURCE = "retention_policy"
#: Maximum and minimum number of full days that a forecast uses.
MAX_FORECAST_DAYS, MIN_FORECAST_DAYS = 14, 2
FORECAST_HORIZON_DAYS = 3650


def _authorize_all_hosts(actor: Actor, action: str) -> None:
    """Raise ForbiddenError unless the actor sees all hosts: storage figures include every host."""
    authorize(actor, action)
    if not actor.unrestricted:
        raise ForbiddenError("storage.whole_fleet")


def build_storage(session: Session, store: ArtifactStore, actor: Actor) -> StorageResponse:
    """Return the data of the storage page."""
    _authorize_all_hosts(actor, "storage.read")
    measured = queries.find_last_check(session, "measure")
    checked = queries.find_last_check(session, "check")
    space = store.space()
    storage_measurement = (
        StorageMeasurement(at=measured.ended_at, **measured.result) if measured and measured.result else None
    )
    return StorageResponse(
        store="bucket" if isinstance(store, BucketStore) else "directory",
        disk=DiskSpace(total=space.total, free=space.free, low=space.is_low),
        measured=storage_measurement,
        forecast=compute_forecast(storage_measurement, space.free, utc_now().date())
        if storage_measurement
        else None,
        checked=_build_consistency(checked),
        file_checks=build_file_checks(session),
        policies=build_policies(session),
        waiting=queries.count_pending_blobs(session),
        pending_checks=queries.list_open_kinds(session),
    )


def _build_consistency(storage_check: StorageCheck | None) -> ConsistencyResult | None:
    return (
        ConsistencyResult(at=storage_check.ended_at, **storage_check.result)
        if storage_check and storage_check.result
        else None
    )


def compute_forecast(measured: StorageMeasurement, free: int, today: date) -> StorageForecast:
    """Return the forecast: mean growth per day over the last full days, minus the bytes deleted on them.

    Data counts on the day of its run, and only if it is still stored. A kind that is kept for less than two weeks
    therefore seems to grow more slowly on its oldest days.
    """
    first = min((day for by_day in measured.days.values() for day in by_day), default=None)
    age = (today - date.fromisoformat(first)).days if first else 0
    days = min(MAX_FORECAST_DAYS, age)
    if days < MIN_FORECAST_DAYS:
        return StorageForecast(days=days, grows_per_day=0, removed_per_day=0, full_at=None)
    since, until = (today - timedelta(days=days)).isoformat(), today.isoformat()
    grown = sum(
        size for by_day in measured.days.values() for day, size in by_day.items() if since <= day < until
    )
    gone = sum(size for day, size in measured.removed.items() if since <= day < until)
    grows, removed = grown // days, gone // days
    net = grows - removed
    full_at = None
    if net > 0 and free / net < FORECAST_HORIZON_DAYS:
        full_at = datetime.now(UTC) + timedelta(days=free / net)
    return StorageForecast(days=days, grows_per_day=grows, removed_per_day=removed, full_at=full_at)


def build_policies(session: Session) -> list[RetentionPolicyResponse]:
    """Return one policy for each kind. A kind without a row is kept indefinitely."""
    rows = {row.kind: (row, name) for row, name in queries.list_policies(session)}
    reported = []
    for kind in KINDS:
        override = rows.get(kind)
        row, name = override if override is not None else (None, None)
        reported.append(
            RetentionPolicyResponse(
                kind=kind,
                days=row.days if row else None,
                max_bytes=row.max_bytes if row else None,
                running=bool(row and row.cursor),
                ended_at=row.ended_at if row else None,
                updated_by=name,
                updated_at=row.updated_at if row else None,
            )
        )
    return reported


def preview_policy(
    session: Session, actor: Actor, retention_policy_update: RetentionPolicyUpdate
) -> RetentionPreviewResponse:
    """Return what these limits would delete now. Change nothing."""
    _authorize_all_hosts(actor, "storage.manage")
    if retention_policy_update.days is None and retention_policy_update.max_bytes is None:
        return RetentionPreviewResponse(
            kind=retention_policy_update.kind,
            before=None,
            items=0,
            bytes=0,
            runs=0,
            cited_items=0,
            cited_bytes=0,
        )
    before = compute_cutoff(
        session,
        retention_policy_update.kind,
        retention_policy_update.days,
        retention_policy_update.max_bytes,
        utc_now(),
    )
    cited = find_cited_runs(
        session, skip=COMPARISON_COLUMNS if retention_policy_update.kind == "comparisons" else ()
    )
    items, size, runs, cited_items, cited_bytes = queries.sum_older(
        session, retention_policy_update.kind, before, list(cited)
    )
    return RetentionPreviewResponse(
        kind=retention_policy_update.kind,
        before=before if before.year > 1970 else None,
        items=items,
        bytes=size,
        runs=runs,
        cited_items=cited_items,
        cited_bytes=cited_bytes,
    )


def set_policy(
    session: Session, actor: Actor, retention_policy_update: RetentionPolicyUpdate
) -> list[RetentionPolicyResponse]:
    """Set the retention policy of a kind. Deletion starts at once, in batches."""
    _authorize_all_hosts(actor, "storage.manage")
    row = queries.lock_policy(session, retention_policy_update.kind)
    before: dict[str, Any] = {"days": row.days, "max_bytes": row.max_bytes} if row else {}
    if row is None:
        row = RetentionPolicy(kind=retention_policy_update.kind)
        session.add(row)
    row.days, row.max_bytes = retention_policy_update.days, retention_policy_update.max_bytes
    row.cursor = None
    limited = retention_policy_update.days is not None or retention_policy_update.max_bytes is not None
    row.due_at = utc_now() if limited else None
    row.updated_by, row.updated_at = actor.id, utc_now()
    session.flush()
    if limited:
        enqueue_after_commit(session, "culprit.apply_retention", row.id)
    after = RetentionLimits(
        days=retention_policy_update.days, max_bytes=retention_policy_update.max_bytes
    ).model_dump()
    audit.record_action(
        session, actor, "retention.set", RESOURCE, retention_policy_update.kind, before=before, after=after
    )
    return build_policies(session)


def request_check(
    session: Session, actor: Actor, storage_check_request: StorageCheckRequest
) -> StorageCheckResponse:
    """Queue a storage check of this kind for a worker, or return the one that is queued or running."""
    _authorize_all_hosts(actor, "storage.manage")
    row = queries.find_open_check(session, storage_check_request.kind)
    if row is None:
        row = StorageCheck(kind=storage_check_request.kind, requested_by=actor.id)
        session.add(row)
        session.flush()
        enqueue_after_commit(session, "culprit.check_storage", row.id)
        audit.record_action(session, actor, f"storage.{storage_check_request.kind}", "storage", row.id)
    return _build_check(session, row)


def get_check(session: Session, actor: Actor, check_id: UUID) -> StorageCheckResponse:
    """Return a storage check, or raise NotFoundError."""
    _authorize_all_hosts(actor, "storage.read")
    row = session.get(StorageCheck, check_id)
    if row is None:
        raise NotFoundError("storage.check_not_found")
    return _build_check(session, row)


def _build_check(session: Session, row: StorageCheck) -> StorageCheckResponse:
    reported = {name: getattr(row, name) for name in ("id", "kind", "state", "created_at")}
    if row.kind == "measure":
        return StorageCheckResponse(**reported)
    return StorageCheckResponse(
        **reported, checked=_build_consistency(row), file_checks=build_file_checks(session)
    )


def delete_orphan_files(session: Session, store: ArtifactStore, actor: Actor) -> OrphanDeletionResponse:
    """Delete files older than one hour that no row references."""
    _authorize_all_hosts(actor, "storage.manage")
    count, size = delete_orphans(session, store)
    audit.record_action(
        session, actor, "storage.delete_orphans", "storage", "orphans", count=count, bytes=size
    )
    return OrphanDeletionResponse(count=count, bytes=size)
