"""HTTP endpoints of captures and their live progress."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse
from sse_starlette import EventSourceResponse

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.accounts.live import LiveResource, StreamOpenerDep
from culprit.captures import queries, service
from culprit.captures.live_updates import stream_updates
from culprit.captures.schemas import (
    CaptureCreate,
    CapturePreviewRequest,
    CapturePreviewResponse,
    CaptureResponse,
)
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import release_and_expire
from culprit.infra.models.captures.capture import Capture
from culprit.infra.request_dependencies import DbDep, EventPublisherDep, StoreDep
from culprit.infra.settings import Settings
from culprit.web.errors import NotFoundError
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(tags=["captures"])


@router.post("/captures/preview")
def preview_capture(
    body: CapturePreviewRequest, session: DbDep, actor: CurrentActor, store: StoreDep
) -> CapturePreviewResponse:
    """Preview a capture: its commands, their expected cost, and the hosts on which they will work.

    Nothing is sent to a host.
    """
    return service.preview_capture(session, actor, store, body)


@router.post("/captures", status_code=201, response_model=CaptureResponse)
def create_capture(
    body: CaptureCreate, session: DbDep, actor: CurrentActor, store: StoreDep, once: Once
) -> CaptureResponse | JSONResponse:
    """Create a capture."""

    def make() -> CaptureResponse:
        source = "api" if actor.token_id else "manual"
        capture = service.create_capture(session, actor, store, body, source=source)
        return queries.build_captures(session, actor, [capture])[0]

    return once(body, make)


@router.get("/captures")
def list_captures(  # noqa: PLR0917 - one parameter per query parameter
    session: DbDep,
    actor: CurrentActor,
    host: UUID | None = None,
    state: Annotated[str | None, Query(max_length=20)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[CaptureResponse]:
    """List captures, the newest first."""
    authorize(actor, "capture.read")
    return build_page(
        session,
        queries.select_captures(actor, host, state),
        Capture.number,
        limit=limit,
        cursor=cursor,
        kind=int,
        read=lambda rows: queries.build_captures(session, actor, rows),
    )


@router.get("/captures/{capture_id}")
def get_capture(capture_id: UUID, session: DbDep, actor: CurrentActor) -> CaptureResponse:
    """Get a capture."""
    authorize(actor, "capture.read")
    capture = queries.find_capture(session, actor, capture_id)
    if capture is None:
        raise NotFoundError("capture.not_found")
    return queries.build_captures(session, actor, [capture])[0]


@router.post("/captures/{capture_id}/cancel")
def cancel_capture(
    capture_id: UUID, session: DbDep, actor: CurrentActor, publisher: EventPublisherDep
) -> CaptureResponse:
    """Cancel a capture. Results collected before the cancellation are kept."""
    capture = service.cancel_capture(session, actor, publisher, capture_id)
    return queries.build_captures(session, actor, [capture])[0]


@router.get("/captures/{capture_id}/progress", response_class=EventSourceResponse)
def capture_progress(  # noqa: PLR0917
    capture_id: UUID,
    request: Request,
    session: DbDep,
    actor: CurrentActor,
    opener: StreamOpenerDep,
    last_event_id: Annotated[str | None, Header(max_length=60)] = None,
) -> EventSourceResponse:
    """Stream server-sent events: `run` with a run's summary, `capture` with its state.

    The stream ends with the capture, or when its reader loses access. 429 and 503 mean that too many streams
    are open: poll the capture every few seconds instead. With `Last-Event-ID`, only later events are sent;
    without it, or if that event is too old, all runs are sent first.
    """
    authorize(actor, "capture.read")
    if queries.find_capture(session, actor, capture_id) is None:
        raise NotFoundError("capture.not_found")
    database: Database = request.app.state.database
    settings: Settings = request.app.state.settings
    release_and_expire(session)
    stream = opener.open(actor, LiveResource(capture_id, Capture.id, queries.select_visible_ids))
    return EventSourceResponse(
        stream_updates(database.sessions, settings.redis_url, stream, capture_id, last_event_id), ping=15
    )
