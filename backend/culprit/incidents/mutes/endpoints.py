"""HTTP endpoints of mutes and cause outcomes."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.incidents.mutes import service
from culprit.incidents.records.requests import MuteCreate
from culprit.incidents.responses.schemas import CauseOutcomeResponse, MuteResponse
from culprit.infra.request_dependencies import DbDep

router = APIRouter(tags=["incidents"])


@router.get("/mutes")
def list_mutes(
    db: DbDep, actor: CurrentActor, *, host: UUID | None = None, include_expired: bool = False
) -> list[MuteResponse]:
    """List the active mutes; `include_expired`: expired ones too."""
    return service.list_mutes(db, actor, host, include_expired=include_expired)


@router.post("/mutes", status_code=201, response_model=MuteResponse)
def add_mute(body: MuteCreate, db: DbDep, actor: CurrentActor, once: Once) -> MuteResponse | JSONResponse:
    """Mute a rule on a host: its findings count for no verdict until the mute expires."""
    return once(body, lambda: service.create_mute(db, actor, body))


@router.delete("/mutes/{mute_id}", status_code=204)
def remove_mute(mute_id: UUID, db: DbDep, actor: CurrentActor) -> Response:
    """Remove a mute."""
    service.delete_mute(db, actor, mute_id)
    return Response(status_code=204)


@router.get("/causes/outcomes")
def list_outcomes(db: DbDep, actor: CurrentActor) -> list[CauseOutcomeResponse]:
    """List how often each cause was right and wrong."""
    return service.count_outcomes(db, actor)
