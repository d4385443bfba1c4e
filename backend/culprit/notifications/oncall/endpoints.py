"""HTTP endpoints of on-call rotations."""

from __future__ import annotations

from typing import Annotated, cast
from uuid import UUID

from fastapi import APIRouter, File, Request, UploadFile
from fastapi.responses import JSONResponse

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.accounts.schemas import Role
from culprit.infra.request_dependencies import DbDep
from culprit.infra.settings import Settings
from culprit.notifications.oncall import queries, responses, service
from culprit.notifications.oncall.calendar import MAX_BYTES
from culprit.notifications.oncall.schemas import (
    OncallCandidateResponse,
    OncallResponse,
    OverrideCreate,
    RotationCreate,
    RotationResponse,
    RotationUpdate,
)

router = APIRouter(tags=["oncall"])


@router.get("/oncall")
def get_oncall(db: DbDep, actor: CurrentActor) -> list[OncallResponse]:
    """Return who is on call now and next."""
    authorize(actor, "oncall.read")
    return responses.build_on_call(db, queries.list_rotations(db))


@router.get("/oncall/candidates")
def list_candidates(db: DbDep, actor: CurrentActor) -> list[OncallCandidateResponse]:
    """List accounts that can be on call."""
    authorize(actor, "oncall.override")
    return [
        OncallCandidateResponse(id=account.id, name=account.name, role=cast(Role, account.role))
        for account in queries.list_accounts(db)
    ]


@router.get("/rotations")
def list_rotations(db: DbDep, actor: CurrentActor) -> list[RotationResponse]:
    """List rotations with the shifts of the next weeks, by name."""
    authorize(actor, "oncall.read")
    return responses.build_rotations(db, queries.list_rotations(db))


@router.post("/rotations", status_code=201, response_model=RotationResponse)
def create_rotation(
    body: RotationCreate, db: DbDep, actor: CurrentActor, once: Once
) -> RotationResponse | JSONResponse:
    """Create a rotation from accounts, a calendar or PagerDuty. Its server must be on the network allow-list."""
    reported = body.model_dump(mode="json", exclude=service.SECRETS)
    return once(
        reported, lambda: responses.build_rotations(db, [service.create_rotation(db, actor, body)])[0]
    )


@router.get("/rotations/{rotation_id}")
def get_rotation(rotation_id: UUID, db: DbDep, actor: CurrentActor) -> RotationResponse:
    """Return a rotation."""
    authorize(actor, "oncall.read")
    return responses.build_rotations(db, [service.get_rotation(db, rotation_id)])[0]


@router.patch("/rotations/{rotation_id}")
def update_rotation(
    rotation_id: UUID, body: RotationUpdate, db: DbDep, actor: CurrentActor
) -> RotationResponse:
    """Change the given fields."""
    return responses.build_rotations(db, [service.update_rotation(db, actor, rotation_id, body)])[0]


@router.delete("/rotations/{rotation_id}", status_code=204)
def delete_rotation(rotation_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Delete a rotation with its overrides and its secret."""
    service.delete_rotation(db, actor, rotation_id)


@router.post("/rotations/{rotation_id}/fetch")
def fetch_rotation(rotation_id: UUID, db: DbDep, actor: CurrentActor) -> RotationResponse:
    """Fetch the shifts again now. The result is in the rotation a moment later."""
    return responses.build_rotations(db, [service.request_fetch(db, actor, rotation_id)])[0]


@router.put("/rotations/{rotation_id}/calendar")
def upload_calendar(
    rotation_id: UUID,
    request: Request,
    db: DbDep,
    actor: CurrentActor,
    file: Annotated[UploadFile, File(description="An iCalendar (.ics) of at most 2 MiB")],
) -> RotationResponse:
    """Upload an iCalendar file that the platform cannot fetch. It replaces the previous one."""
    settings: Settings = request.app.state.settings
    data = file.file.read(MAX_BYTES + 1)
    row = service.upload_calendar(db, actor, rotation_id, data, file.filename or "", settings.home / "work")
    return responses.build_rotations(db, [row])[0]


@router.post("/rotations/{rotation_id}/overrides", status_code=201, response_model=RotationResponse)
def create_override(
    rotation_id: UUID, body: OverrideCreate, db: DbDep, actor: CurrentActor, once: Once
) -> RotationResponse | JSONResponse:
    """Put an account on call for a time."""
    return once(
        body,
        lambda: responses.build_rotations(db, [service.create_override(db, actor, rotation_id, body)])[0],
    )


@router.delete("/rotations/{rotation_id}/overrides/{override_id}", status_code=204)
def delete_override(rotation_id: UUID, override_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Delete an override; the rotation applies again."""
    service.delete_override(db, actor, rotation_id, override_id)
