"""Captures over HTTP, and their live progress."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import JSONResponse
from sse_starlette import EventSourceResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.live import LiveResource, Opener
from culprit.auth.policy import policy
from culprit.captures import queries, service
from culprit.captures.live import watch
from culprit.captures.schemas import CaptureCreate, CapturePreview, CaptureRead, PreviewRead
from culprit.config import Settings
from culprit.infra.artifacts import ArtifactStore, make_store
from culprit.infra.db import Database, Db
from culprit.infra.progress import Publisher
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.kit.errors import NotFound
from culprit.kit.unit_of_work import let_go
from culprit.models import Capture

router = APIRouter(tags=["captures"])


def get_store(request: Request) -> ArtifactStore:
    """The artifact store of this application; one per application, made when first needed."""
    settings: Settings = request.app.state.settings
    if not hasattr(request.app.state, "artifact_store"):
        request.app.state.artifact_store = make_store(settings)
    store: ArtifactStore = request.app.state.artifact_store
    return store


@lru_cache(maxsize=4)
def _publisher(url: str) -> Publisher:
    return Publisher(url)


def get_publisher(request: Request) -> Publisher:
    """Where news is published."""
    settings: Settings = request.app.state.settings
    return _publisher(settings.redis_url)


Store = Annotated[ArtifactStore, Depends(get_store)]
News = Annotated[Publisher, Depends(get_publisher)]


@router.post("/captures/preview")
def preview_capture(body: CapturePreview, session: Db, actor: CurrentActor, store: Store) -> PreviewRead:
    """Which commands would run, what they may cost, and where they will work. Nothing is sent to a host."""
    return service.preview(session, actor, store, body)


@router.post("/captures", status_code=201, response_model=CaptureRead)
def create_capture(
    body: CaptureCreate, session: Db, actor: CurrentActor, store: Store, once: Once
) -> CaptureRead | JSONResponse:
    """Starts a capture."""

    def make() -> CaptureRead:
        source = "api" if actor.token_id else "manual"
        capture = service.create(session, actor, store, body, source=source)
        return queries.read_captures(session, actor, [capture])[0]

    return once(body, make)


@router.get("/captures")
def list_captures(  # noqa: PLR0917 - one parameter per query parameter
    session: Db,
    actor: CurrentActor,
    host: UUID | None = None,
    state: Annotated[str | None, Query(max_length=20)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[CaptureRead]:
    """Captures, the newest first."""
    policy(actor, "capture.read")
    return page(
        session,
        queries.captures(actor, host, state),
        Capture.number,
        limit=limit,
        cursor=cursor,
        kind=int,
        read=lambda rows: queries.read_captures(session, actor, rows),
    )


@router.get("/captures/{capture_id}")
def get_capture(capture_id: UUID, session: Db, actor: CurrentActor) -> CaptureRead:
    """One capture."""
    policy(actor, "capture.read")
    capture = queries.capture(session, actor, capture_id)
    if capture is None:
        raise NotFound("capture.not_found")
    return queries.read_captures(session, actor, [capture])[0]


@router.post("/captures/{capture_id}/cancel")
def cancel_capture(capture_id: UUID, session: Db, actor: CurrentActor, news: News) -> CaptureRead:
    """Calls it off."""
    capture = service.cancel(session, actor, news, capture_id)
    return queries.read_captures(session, actor, [capture])[0]


@router.get("/captures/{capture_id}/progress", response_class=EventSourceResponse)
def capture_progress(  # noqa: PLR0917
    capture_id: UUID,
    request: Request,
    session: Db,
    actor: CurrentActor,
    opener: Opener,
    last_event_id: Annotated[str | None, Header(max_length=60)] = None,
) -> EventSourceResponse:
    """Server-sent events: `run` with a run's summary, `capture` with its state; ends with the capture, or when its
    reader loses access. 429 and 503 say that too many streams are open: read the capture every few seconds instead.

    With `Last-Event-ID` only what came after that event is sent; without, or where that is too long ago, all
    runs as they are now come first.
    """
    policy(actor, "capture.read")
    if queries.capture(session, actor, capture_id) is None:
        raise NotFound("capture.not_found")
    database: Database = request.app.state.database
    settings: Settings = request.app.state.settings
    let_go(session)
    stream = opener.open(actor, LiveResource(capture_id, Capture.id, queries.select_visible_ids))
    return EventSourceResponse(
        watch(database.sessions, settings.redis_url, stream, capture_id, last_event_id), ping=15
    )
