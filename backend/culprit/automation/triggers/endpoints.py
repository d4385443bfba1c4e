"""Triggers over HTTP: those that people manage, and the one to which other systems send."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse
from sqlalchemy.orm import Session

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.infra.db import Database, Db
from culprit.kit.clock import now
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.kit.errors import TooLarge
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Alert, Trigger
from culprit.triggers import queries, read, receive, service
from culprit.triggers.schemas import (
    AlertRead,
    AlertState,
    AllowanceCreate,
    AllowanceRead,
    Received,
    TriggerCreate,
    TriggerRead,
    TriggerTest,
    TriggerTested,
    TriggerUpdate,
)

router = APIRouter(tags=["triggers"])


async def raw_body(request: Request) -> bytes:
    """The body as it was sent: signatures are over bytes. Raises TooLarge."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > receive.MAX_BODY:
            raise TooLarge("request.too_large", limit_bytes=receive.MAX_BODY)
        pieces.append(piece)
    return b"".join(pieces)


def _taken(session: Session, trigger_id: UUID, request: Request, body: bytes) -> Received:
    headers = {name.lower(): value for name, value in request.headers.items()}
    return receive.receive(session, trigger_id, headers, body, now())


@router.post(
    "/triggers/{trigger_id}/alerts",
    status_code=202,
    openapi_extra={"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}},
)
def receive_alerts(trigger_id: UUID, request: Request, body: Annotated[bytes, Depends(raw_body)]) -> Received:
    """Alerts from another system, proven by the trigger's token or signature; no account is needed."""
    database: Database = request.app.state.database
    try:
        with unit_of_work(database.sessions) as session:
            return _taken(session, trigger_id, request, body)
    except receive.Rejected as rejected:
        if rejected.trigger_id is not None:
            with unit_of_work(database.sessions) as session:
                receive.note_refusal(session, rejected, now())
        raise receive.turned_away() from None


@router.get("/triggers")
def list_triggers(
    db: Db, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[TriggerRead]:
    """Triggers, the newest first."""
    policy(actor, "trigger.read")
    return page(
        db,
        queries.triggers(actor),
        Trigger.id,
        limit=limit,
        cursor=cursor,
        read=lambda rows: read.triggers(db, rows),
    )


@router.post("/triggers", status_code=201, response_model=TriggerRead)
def create_trigger(
    body: TriggerCreate, db: Db, actor: CurrentActor, once: Once
) -> TriggerRead | JSONResponse:
    """A new trigger; `secret` of the answer is told this once."""

    def make() -> TriggerRead:
        row, secret = service.create(db, actor, body)
        return read.triggers(db, [row], secret)[0]

    return once(body.model_dump(mode="json", exclude=service.SECRETS), make, secret=True)


@router.patch("/triggers/{trigger_id}")
def change_trigger(trigger_id: UUID, body: TriggerUpdate, db: Db, actor: CurrentActor) -> TriggerRead:
    """What is not mentioned stays; with `new_secret` the answer tells a new one, and the old one ends."""
    row, secret = service.update(db, actor, trigger_id, body)
    return read.triggers(db, [row], secret)[0]


@router.delete("/triggers/{trigger_id}", status_code=204)
def remove_trigger(trigger_id: UUID, db: Db, actor: CurrentActor) -> None:
    """Forget it and its alerts."""
    service.remove(db, actor, trigger_id)


@router.post("/triggers/{trigger_id}/test")
def try_trigger(trigger_id: UUID, body: TriggerTest, db: Db, actor: CurrentActor) -> TriggerTested:
    """What would become of an alert with these labels. Nothing is started."""
    return service.test(db, actor, trigger_id, body)


@router.get("/alerts")
def list_alerts(  # noqa: PLR0917 - one parameter per query parameter
    db: Db,
    actor: CurrentActor,
    state: AlertState | None = None,
    trigger: UUID | None = None,
    host: UUID | None = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> Page[AlertRead]:
    """Alerts that were received, the newest first; those that nothing was done about say why."""
    policy(actor, "trigger.read")
    return page(
        db,
        queries.alerts(actor, state=state, trigger_id=trigger, host_id=host),
        Alert.number,
        limit=limit,
        cursor=cursor,
        kind=int,
        read=lambda rows: read.alerts(db, actor, rows),
    )


@router.get("/tier-allowances")
def list_allowances(db: Db, actor: CurrentActor) -> list[AllowanceRead]:
    """The labels on whose hosts the standard tier may run without a person."""
    policy(actor, "trigger.read")
    return read.allowances(db, queries.allowances(db))


@router.post("/tier-allowances", status_code=201)
def allow_tier(body: AllowanceCreate, db: Db, actor: CurrentActor) -> AllowanceRead:
    """Allow it for a label. Sending it twice is harmless and needs no key."""
    return read.allowances(db, [service.allow(db, actor, body)])[0]


@router.delete("/tier-allowances/{allowance_id}", status_code=204)
def forbid_tier(allowance_id: UUID, db: Db, actor: CurrentActor) -> None:
    """Only the light tier again."""
    service.forbid(db, actor, allowance_id)
