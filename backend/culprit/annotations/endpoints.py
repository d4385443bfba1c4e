"""Events that are told, over HTTP."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime

from culprit.annotations import queries, read, service
from culprit.annotations.schemas import EventCorrect, EventTell, Kind, ToldEventRead
from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.infra.db import Db
from culprit.kit.clock import to_ns
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.kit.errors import NotFound
from culprit.kit.gate import Gate
from culprit.models import Annotation

router = APIRouter(tags=["events"])
LAST_NS = 1 << 62
PER_MINUTE = 240
"""Events that one account may tell in a minute: a fleet's deploy, machine by machine, and no flood."""


def gate() -> Gate:
    """What holds back who tells too much."""
    return Gate(PER_MINUTE, "annotation.too_often")


@router.get("/events", summary="What was told: deploys, changes, notes")
def list_events(
    db: Db,
    actor: CurrentActor,
    *,
    host_id: UUID | None = None,
    kind: Annotated[Kind | None, Query()] = None,
    since: Annotated[AwareDatetime | None, Query(description="Only what began then or later")] = None,
    withdrawn: Annotated[bool, Query(description="Also what was taken back")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[ToldEventRead]:
    """The newest telling first."""
    policy(actor, "event.read")
    after_ns = min(max(to_ns(since), 0), LAST_NS) if since is not None else None
    query = queries.listed(actor, host_id=host_id, kind=kind, after_ns=after_ns, withdrawn=withdrawn)

    def shown(rows: Sequence[Annotation]) -> list[ToldEventRead]:
        return read.events(db, actor, rows)

    return page(db, query, Annotation.id, limit=limit, cursor=cursor, read=shown)


@router.post("/events", status_code=201, response_model=ToldEventRead, summary="Tell an event")
def tell_event(  # noqa: PLR0917
    body: EventTell, request: Request, response: Response, db: Db, actor: CurrentActor, once: Once
) -> ToldEventRead | JSONResponse:
    """Puts it on the timelines of its hosts. With an `external_id` that was told before: corrects that one (200)."""
    bounded: Gate = request.app.state.events_gate
    policy(actor, "event.tell")
    bounded.enter(str(actor.id), time.monotonic())

    def make() -> ToldEventRead:
        row, new = service.tell(db, actor, body)
        response.status_code = 201 if new else 200
        return read.event(db, actor, row)

    return once(body, make)


@router.get("/events/{event_id}", summary="One event that was told")
def get_event(event_id: UUID, db: Db, actor: CurrentActor) -> ToldEventRead:
    """Also where it was withdrawn."""
    policy(actor, "event.read")
    row = queries.one(db, actor, event_id)
    if row is None:
        raise NotFound("annotation.not_found")
    return read.event(db, actor, row)


@router.patch("/events/{event_id}", summary="Correct an event")
def correct_event(event_id: UUID, body: EventCorrect, db: Db, actor: CurrentActor) -> ToldEventRead:
    """Who told it may, and who manages what others told."""
    return read.event(db, actor, service.correct(db, actor, event_id, body))


@router.delete("/events/{event_id}", status_code=204, summary="Withdraw an event")
def withdraw_event(event_id: UUID, db: Db, actor: CurrentActor) -> None:
    """It leaves every timeline; the list shows it on demand."""
    service.withdraw(db, actor, event_id)
