"""HTTP endpoints of storage: use, retention policies and consistency checks."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from culprit.accounts.dependencies import CurrentActor
from culprit.evidence.retention import service
from culprit.evidence.retention.schemas import (
    OrphanDeletionResponse,
    RetentionPolicyResponse,
    RetentionPolicyUpdate,
    RetentionPreviewResponse,
    StorageCheckRequest,
    StorageCheckResponse,
    StorageResponse,
)
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.request_dependencies import DbDep

router = APIRouter(tags=["storage"])


@router.get("/storage")
def get_storage(db: DbDep, actor: CurrentActor) -> StorageResponse:
    """Return the last measured storage use by kind, day and host, the forecast, and the retention policies."""
    return service.build_storage(db, artifact_store(), actor)


@router.patch("/storage/policy")
def set_policy(body: RetentionPolicyUpdate, db: DbDep, actor: CurrentActor) -> list[RetentionPolicyResponse]:
    """Set how long a kind is kept. Deletion starts at once. Without a limit, data is kept indefinitely."""
    return service.set_policy(db, actor, body)


@router.post("/storage/policy/preview")
def preview_policy(body: RetentionPolicyUpdate, db: DbDep, actor: CurrentActor) -> RetentionPreviewResponse:
    """Preview what these limits would delete, and what they would keep because it is cited. Changes nothing."""
    return service.preview_policy(db, actor, body)


@router.post("/storage/checks", status_code=202)
def request_storage_check(body: StorageCheckRequest, db: DbDep, actor: CurrentActor) -> StorageCheckResponse:
    """Request a storage measurement, or a comparison of rows with files. Return the pending request, if any."""
    return service.request_check(db, actor, body)


@router.get("/storage/checks/{check_id}")
def get_storage_check(check_id: UUID, db: DbDep, actor: CurrentActor) -> StorageCheckResponse:
    """Return the state of a storage check, and its result when it is done."""
    return service.get_check(db, actor, check_id)


@router.delete("/storage/orphans")
def delete_orphan_files(db: DbDep, actor: CurrentActor) -> OrphanDeletionResponse:
    """Delete files older than one hour that no row references."""
    return service.delete_orphan_files(db, artifact_store(), actor)
