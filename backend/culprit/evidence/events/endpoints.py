"""HTTP endpoints of reported events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.evidence.events import queries, responses, service
from culprit.evidence.events.schemas import (
    Kind,
    ReportedEventCreate,
    ReportedEventResponse,
    ReportedEventUpdate,
)
from culprit.infra.db.clock import to_ns
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.request_dependencies import DbDep
from culprit.web.errors import NotFoundError
from culprit.web.http.pagination import Cursor, Limit, Page, build_page
from culprit.web.http.rate_limit import RateLimiter

router = APIRouter(tags=["events"])
LAST_NS = 1 << 62
PER_MINUTE = 240
"""Maximum number of reports per account and minute; enough for a deploy to a fleet, host by host."""


def build_rate_limiter(redis_url: str | None) -> RateLimiter:
    """Return the rate limiter of event reports."""
    return RateLimiter(PER_MINUTE, "reported_event.too_often", redis_url)


@router.get("/reported-events", summary="List reported events")
def list_events(
    db: DbDep,
    actor: CurrentActor,
    *,
    host_id: UUID | None = None,
    kind: Annotated[Kind | None, Query()] = None,
    since: Annotated[
        AwareDatetime | None, Query(description="Only events that start at this time or later")
    ] = None,
    withdrawn: Annotated[bool, Query(description="Include withdrawn events")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[ReportedEventResponse]:
    """Return deploys, configuration changes and notes, the latest report first."""
    authorize(actor, "event.read")
    after_ns = min(max(to_ns(since), 0), LAST_NS) if since is not None else None
    query = queries.select_events(actor, host_id=host_id, kind=kind, after_ns=after_ns, withdrawn=withdrawn)

    def build_responses(rows: Sequence[ReportedEvent]) -> list[ReportedEventResponse]:
        return responses.build_events(db, actor, rows)

    return build_page(db, query, ReportedEvent.id, limit=limit, cursor=cursor, read=build_responses)


@router.post(
    "/reported-events", status_code=201, response_model=ReportedEventResponse, summary="Report an event"
)
def report_event(  # noqa: PLR0917
    body: ReportedEventCreate,
    request: Request,
    response: Response,
    db: DbDep,
    actor: CurrentActor,
    once: Once,
) -> ReportedEventResponse | JSONResponse:
    """Add an event to the timelines of its hosts. A known `external_id` updates that event instead (200)."""
    rate_limiter: RateLimiter = request.app.state.events_rate_limiter
    authorize(actor, "event.report")
    rate_limiter.check(str(actor.id))

    def create_response() -> ReportedEventResponse:
        row, new = service.report_event(db, actor, body)
        response.status_code = 201 if new else 200
        return responses.build_event(db, actor, row)

    return once(body, create_response)


@router.get("/reported-events/{event_id}", summary="Get a reported event")
def get_event(event_id: UUID, db: DbDep, actor: CurrentActor) -> ReportedEventResponse:
    """Return an event, also if it is withdrawn."""
    authorize(actor, "event.read")
    row = queries.find_event(db, actor, event_id)
    if row is None:
        raise NotFoundError("reported_event.not_found")
    return responses.build_event(db, actor, row)


@router.patch("/reported-events/{event_id}", summary="Update a reported event")
def update_event(
    event_id: UUID, body: ReportedEventUpdate, db: DbDep, actor: CurrentActor
) -> ReportedEventResponse:
    """Change an event. Requires the reporter, or permission to manage events of others."""
    return responses.build_event(db, actor, service.update_event(db, actor, event_id, body))


@router.delete("/reported-events/{event_id}", status_code=204, summary="Withdraw a reported event")
def withdraw_event(event_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Remove an event from every timeline. The list shows it on request."""
    service.withdraw_event(db, actor, event_id)
