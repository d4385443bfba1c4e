"""HTTP endpoints of triggers: their management, and the one that receives alerts."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse
from sqlalchemy.orm import Session

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.automation.triggers import queries, responses, service
from culprit.automation.triggers import receive_alerts as receive
from culprit.automation.triggers.schemas import (
    AlertDeliveryResponse,
    AlertResponse,
    AlertState,
    TriggerCreate,
    TriggerResponse,
    TriggerTestRequest,
    TriggerTestResponse,
    TriggerUpdate,
    UnattendedTierCreate,
    UnattendedTierResponse,
)
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.request_dependencies import DbDep
from culprit.web.errors import TooLargeError
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(tags=["triggers"])


async def read_raw_body(request: Request) -> bytes:
    """Return the request body as bytes, for signatures. Raises TooLargeError."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > receive.MAX_BODY:
            raise TooLargeError("request.too_large", limit_bytes=receive.MAX_BODY)
        pieces.append(piece)
    return b"".join(pieces)


def _receive(session: Session, trigger_id: UUID, request: Request, body: bytes) -> AlertDeliveryResponse:
    headers = {name.lower(): value for name, value in request.headers.items()}
    return receive.receive_request(session, trigger_id, headers, body, utc_now())


@router.post(
    "/triggers/{trigger_id}/alerts",
    status_code=202,
    openapi_extra={"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}},
)
def receive_alerts(
    trigger_id: UUID, request: Request, body: Annotated[bytes, Depends(read_raw_body)]
) -> AlertDeliveryResponse:
    """Receive alerts from another system, authenticated by the trigger's token or signature, without an account."""
    database: Database = request.app.state.database
    try:
        with unit_of_work(database.sessions) as session:
            return _receive(session, trigger_id, request, body)
    except receive.AlertRejectedError as rejected:
        if rejected.trigger_id is not None:
            with unit_of_work(database.sessions) as session:
                receive.record_rejection(session, rejected, utc_now())
        raise receive.build_unauthenticated() from None


@router.get("/triggers")
def list_triggers(
    db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[TriggerResponse]:
    """List triggers, newest first."""
    authorize(actor, "trigger.read")
    return build_page(
        db,
        queries.select_triggers(actor),
        Trigger.id,
        limit=limit,
        cursor=cursor,
        read=lambda rows: responses.build_triggers(db, rows),
    )


@router.post("/triggers", status_code=201, response_model=TriggerResponse)
def create_trigger(
    body: TriggerCreate, db: DbDep, actor: CurrentActor, once: Once
) -> TriggerResponse | JSONResponse:
    """Create a trigger; only this response contains `secret`."""

    def make() -> TriggerResponse:
        row, secret = service.create_trigger(db, actor, body)
        return responses.build_triggers(db, [row], secret)[0]

    return once(body.model_dump(mode="json", exclude=service.SECRETS), make, secret=True)


@router.patch("/triggers/{trigger_id}")
def change_trigger(trigger_id: UUID, body: TriggerUpdate, db: DbDep, actor: CurrentActor) -> TriggerResponse:
    """Change the given fields; with `new_secret`, the response contains a new secret and the old one is invalid."""
    row, secret = service.update_trigger(db, actor, trigger_id, body)
    return responses.build_triggers(db, [row], secret)[0]


@router.delete("/triggers/{trigger_id}", status_code=204)
def remove_trigger(trigger_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Delete a trigger and its alerts."""
    service.delete_trigger(db, actor, trigger_id)


@router.post("/triggers/{trigger_id}/test")
def try_trigger(
    trigger_id: UUID, body: TriggerTestRequest, db: DbDep, actor: CurrentActor
) -> TriggerTestResponse:
    """Preview the response to an alert with these labels. Nothing is started."""
    return service.preview_response(db, actor, trigger_id, body)


@router.get("/alerts")
def list_alerts(  # noqa: PLR0917 - one parameter per query parameter
    db: DbDep,
    actor: CurrentActor,
    state: AlertState | None = None,
    trigger: UUID | None = None,
    host: UUID | None = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> Page[AlertResponse]:
    """List received alerts, newest first, with the reason if nothing was started."""
    authorize(actor, "trigger.read")
    return build_page(
        db,
        queries.select_alerts(actor, state=state, trigger_id=trigger, host_id=host),
        Alert.number,
        limit=limit,
        cursor=cursor,
        kind=int,
        read=lambda rows: responses.build_alerts(db, actor, rows),
    )


@router.get("/unattended-tiers")
def list_allowances(db: DbDep, actor: CurrentActor) -> list[UnattendedTierResponse]:
    """List the labels on whose hosts the standard tier may run unattended."""
    authorize(actor, "trigger.read")
    return responses.build_unattended_tiers(db, queries.list_unattended_tiers(db))


@router.post("/unattended-tiers", status_code=201)
def allow_tier(body: UnattendedTierCreate, db: DbDep, actor: CurrentActor) -> UnattendedTierResponse:
    """Allow the standard tier for a label. Repeating it is harmless and needs no key."""
    return responses.build_unattended_tiers(db, [service.allow_unattended_tier(db, actor, body)])[0]


@router.delete("/unattended-tiers/{unattended_tier_id}", status_code=204)
def forbid_tier(unattended_tier_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Allow only the light tier for a label again."""
    service.remove_unattended_tier(db, actor, unattended_tier_id)
