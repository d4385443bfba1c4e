"""Channels and messages over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.core.notices.chart import svg
from culprit.core.notices.message import Message
from culprit.core.notices.raster import png
from culprit.infra.db import Db
from culprit.kit.clock import now
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.kit.errors import NotFound
from culprit.models import Channel, GrafanaAnnotation, Notice
from culprit.notices import drawn, queries, service
from culprit.notices.schemas import (
    AnnotationState,
    ChannelCreate,
    ChannelRead,
    ChannelUpdate,
    GrafanaAnnotationRead,
    NoticeRead,
    NoticeState,
)

router = APIRouter(tags=["notices"])
PICTURE_HEADERS = {
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex, nofollow",
    "Content-Security-Policy": "default-src 'none'; style-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


@router.get("/channels")
def list_channels(
    db: Db, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[ChannelRead]:
    """Channels, the newest first."""
    policy(actor, "channel.read")
    return page(
        db,
        queries.channels(),
        Channel.id,
        limit=limit,
        cursor=cursor,
        read=lambda rows: service.read_channels(db, rows),
    )


@router.post("/channels", status_code=201, response_model=ChannelRead)
def create_channel(
    body: ChannelCreate, db: Db, actor: CurrentActor, once: Once
) -> ChannelRead | JSONResponse:
    """A new channel; where it leads must be on the allow-list. `secret` of the answer is told this once."""

    def make() -> ChannelRead:
        row, secret = service.create(db, actor, body)
        return service.read_channels(db, [row], secret)[0]

    return once(body.model_dump(mode="json", exclude=service.SECRETS), make, secret=True)


@router.patch("/channels/{channel_id}")
def change_channel(channel_id: UUID, body: ChannelUpdate, db: Db, actor: CurrentActor) -> ChannelRead:
    """What is not mentioned stays."""
    return service.read_channels(db, [service.update(db, actor, channel_id, body)])[0]


@router.delete("/channels/{channel_id}", status_code=204)
def remove_channel(channel_id: UUID, db: Db, actor: CurrentActor) -> None:
    """Forget it and its messages."""
    service.remove(db, actor, channel_id)


@router.post("/channels/{channel_id}/test", status_code=201, response_model=NoticeRead)
def try_channel(channel_id: UUID, db: Db, actor: CurrentActor, once: Once) -> NoticeRead | JSONResponse:
    """Sends a message with made-up numbers."""

    def make() -> NoticeRead:
        return service.read_notices(db, actor, [service.test(db, actor, channel_id)])[0]

    return once({}, make)


@router.post("/channels/{channel_id}/again")
def send_all_again(channel_id: UUID, db: Db, actor: CurrentActor) -> ChannelRead:
    """Tries everything again that was given up for this channel: messages, or annotations of a Grafana."""
    return service.read_channels(db, [drawn.all_again(db, actor, channel_id)])[0]


@router.get("/grafana-annotations")
def list_grafana_annotations(  # noqa: PLR0917 - one parameter per query parameter
    db: Db,
    actor: CurrentActor,
    state: AnnotationState | None = None,
    channel: UUID | None = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> Page[GrafanaAnnotationRead]:
    """Annotations in Grafana, the newest first; `dead` ones never arrived."""
    policy(actor, "notice.read")
    return page(
        db,
        drawn.listed(state=state, channel_id=channel),
        GrafanaAnnotation.id,
        limit=limit,
        cursor=cursor,
        read=lambda rows: drawn.read(db, actor, rows),
    )


@router.post("/grafana-annotations/{annotation_id}/again")
def send_annotation_again(annotation_id: UUID, db: Db, actor: CurrentActor) -> GrafanaAnnotationRead:
    """Tries a dead annotation again."""
    return drawn.read(db, actor, [drawn.again(db, actor, annotation_id)])[0]


@router.get("/notices")
def list_notices(  # noqa: PLR0917 - one parameter per query parameter
    db: Db,
    actor: CurrentActor,
    state: NoticeState | None = None,
    channel: UUID | None = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> Page[NoticeRead]:
    """Messages, the newest first; `dead` ones never arrived."""
    policy(actor, "notice.read")
    return page(
        db,
        queries.notices(actor, state=state, channel_id=channel),
        Notice.number,
        limit=limit,
        cursor=cursor,
        kind=int,
        read=lambda rows: service.read_notices(db, actor, rows),
    )


@router.post("/notices/{notice_id}/again")
def send_again(notice_id: UUID, db: Db, actor: CurrentActor) -> NoticeRead:
    """Tries a dead message again."""
    return service.read_notices(db, actor, [service.again(db, actor, notice_id)])[0]


@router.get("/notices/{notice_id}/picture", response_class=Response)
def get_picture(notice_id: UUID, db: Db, actor: CurrentActor) -> Response:
    """The picture of a message as SVG."""
    policy(actor, "notice.read")
    found = queries.notice(db, actor, notice_id)
    chart = Message.of(found.message).chart if found is not None else None
    if chart is None:
        raise NotFound("notice.no_picture")
    return Response(svg(chart, actor.locale), media_type="image/svg+xml", headers=PICTURE_HEADERS)


@router.get("/pictures/{token}", response_class=Response)
def get_shared_picture(token: str, db: Db) -> Response:
    """The picture of a message by its link, as PNG, for 30 days: for chat programs, which have no account."""
    notice_id = service.picture_of(token)
    found = db.get(Notice, notice_id) if notice_id is not None else None
    shared = found is not None and now() - found.created_at < timedelta(days=service.PICTURE_DAYS)
    chart = Message.of(found.message).chart if found is not None and shared else None
    if chart is None:
        raise NotFound("notice.no_picture")
    return Response(png(chart), media_type="image/png", headers=PICTURE_HEADERS)
