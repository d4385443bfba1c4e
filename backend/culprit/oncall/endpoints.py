"""Who is on call, over HTTP."""

from __future__ import annotations

from typing import Annotated, cast
from uuid import UUID

from fastapi import APIRouter, File, Request, UploadFile
from fastapi.responses import JSONResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.auth.schemas import Role
from culprit.config import Settings
from culprit.infra.db import Db
from culprit.oncall import queries, read, service
from culprit.oncall.calendar import MAX_BYTES
from culprit.oncall.schemas import (
    Colleague,
    OncallRead,
    OverrideCreate,
    RotationCreate,
    RotationRead,
    RotationUpdate,
)

router = APIRouter(tags=["oncall"])


@router.get("/oncall")
def get_oncall(db: Db, actor: CurrentActor) -> list[OncallRead]:
    """Who is on call now, and who is next."""
    policy(actor, "oncall.read")
    return read.on_call(db, queries.rotations(db))


@router.get("/oncall/people")
def list_people(db: Db, actor: CurrentActor) -> list[Colleague]:
    """Accounts that can be put on call."""
    policy(actor, "oncall.override")
    return [Colleague(id=one.id, name=one.name, role=cast(Role, one.role)) for one in queries.accounts(db)]


@router.get("/rotations")
def list_rotations(db: Db, actor: CurrentActor) -> list[RotationRead]:
    """Every rotation with its turns of the next weeks, by name."""
    policy(actor, "oncall.read")
    return read.rotations(db, queries.rotations(db))


@router.post("/rotations", status_code=201, response_model=RotationRead)
def create_rotation(
    body: RotationCreate, db: Db, actor: CurrentActor, once: Once
) -> RotationRead | JSONResponse:
    """People in turn, a calendar, or PagerDuty. What is fetched from must be on the allow-list."""
    told = body.model_dump(mode="json", exclude=service.SECRETS)
    return once(told, lambda: read.rotations(db, [service.create(db, actor, body)])[0])


@router.get("/rotations/{rotation_id}")
def get_rotation(rotation_id: UUID, db: Db, actor: CurrentActor) -> RotationRead:
    """One rotation."""
    policy(actor, "oncall.read")
    return read.rotations(db, [service.found(db, rotation_id)])[0]


@router.patch("/rotations/{rotation_id}")
def update_rotation(rotation_id: UUID, body: RotationUpdate, db: Db, actor: CurrentActor) -> RotationRead:
    """What is not mentioned stays."""
    return read.rotations(db, [service.update(db, actor, rotation_id, body)])[0]


@router.delete("/rotations/{rotation_id}", status_code=204)
def remove_rotation(rotation_id: UUID, db: Db, actor: CurrentActor) -> None:
    """With its overrides and its secret."""
    service.remove(db, actor, rotation_id)


@router.post("/rotations/{rotation_id}/fetch")
def fetch_rotation(rotation_id: UUID, db: Db, actor: CurrentActor) -> RotationRead:
    """Fetch it again now. What came of it stands in the rotation a moment later."""
    return read.rotations(db, [service.fetch_now(db, actor, rotation_id)])[0]


@router.put("/rotations/{rotation_id}/calendar")
def bring_calendar(
    rotation_id: UUID,
    request: Request,
    db: Db,
    actor: CurrentActor,
    file: Annotated[UploadFile, File(description="An iCalendar (.ics) of at most 2 MiB")],
) -> RotationRead:
    """An iCalendar as a file, for one that nobody can fetch. It takes the place of the one before."""
    settings: Settings = request.app.state.settings
    data = file.file.read(MAX_BYTES + 1)
    row = service.bring(db, actor, rotation_id, data, file.filename or "", settings.home / "work")
    return read.rotations(db, [row])[0]


@router.post("/rotations/{rotation_id}/overrides", status_code=201, response_model=RotationRead)
def add_override(
    rotation_id: UUID, body: OverrideCreate, db: Db, actor: CurrentActor, once: Once
) -> RotationRead | JSONResponse:
    """Somebody takes over for a while."""
    return once(body, lambda: read.rotations(db, [service.take_over(db, actor, rotation_id, body)])[0])


@router.delete("/rotations/{rotation_id}/overrides/{override_id}", status_code=204)
def remove_override(rotation_id: UUID, override_id: UUID, db: Db, actor: CurrentActor) -> None:
    """The rotation holds again."""
    service.give_back(db, actor, rotation_id, override_id)
