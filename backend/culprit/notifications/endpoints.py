"""HTTP endpoints of channels and notifications."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.domain.notifications.chart import render_svg
from culprit.domain.notifications.message import NotificationContent
from culprit.domain.notifications.raster import render_png
from culprit.infra.db.clock import utc_now
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.models.notifications.grafana_annotation import GrafanaAnnotation
from culprit.infra.models.notifications.notification import Notification
from culprit.infra.request_dependencies import DbDep
from culprit.notifications import grafana_annotations, queries, service
from culprit.notifications.schemas import (
    AnnotationState,
    ChannelCreate,
    ChannelResponse,
    ChannelUpdate,
    GrafanaAnnotationResponse,
    NotificationResponse,
    NotificationState,
)
from culprit.web.errors import NotFoundError
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(tags=["notices"])
CHART_HEADERS = {
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex, nofollow",
    "Content-Security-Policy": "default-src 'none'; style-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


@router.get("/channels")
def list_channels(
    db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[ChannelResponse]:
    """List channels, newest first."""
    authorize(actor, "channel.read")
    return build_page(
        db,
        queries.select_channels(),
        Channel.id,
        limit=limit,
        cursor=cursor,
        read=lambda rows: service.build_channels(db, rows),
    )


@router.post("/channels", status_code=201, response_model=ChannelResponse)
def create_channel(
    body: ChannelCreate, db: DbDep, actor: CurrentActor, once: Once
) -> ChannelResponse | JSONResponse:
    """Create a channel; its address must be on the network allow-list. Only this response contains `secret`."""

    def make() -> ChannelResponse:
        row, secret = service.create_channel(db, actor, body)
        return service.build_channels(db, [row], secret)[0]

    return once(body.model_dump(mode="json", exclude=service.SECRETS), make, secret=True)


@router.patch("/channels/{channel_id}")
def update_channel(channel_id: UUID, body: ChannelUpdate, db: DbDep, actor: CurrentActor) -> ChannelResponse:
    """Change the given fields."""
    return service.build_channels(db, [service.update_channel(db, actor, channel_id, body)])[0]


@router.delete("/channels/{channel_id}", status_code=204)
def delete_channel(channel_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Delete a channel and its notifications."""
    service.delete_channel(db, actor, channel_id)


@router.post("/channels/{channel_id}/test", status_code=201, response_model=NotificationResponse)
def test_channel(
    channel_id: UUID, db: DbDep, actor: CurrentActor, once: Once
) -> NotificationResponse | JSONResponse:
    """Send a notification with example numbers."""

    def make() -> NotificationResponse:
        return service.build_notifications(db, actor, [service.send_test(db, actor, channel_id)])[0]

    return once({}, make)


@router.post("/channels/{channel_id}/retry")
def retry_channel(channel_id: UUID, db: DbDep, actor: CurrentActor) -> ChannelResponse:
    """Retry all failed notifications of a channel, or all failed annotations of a Grafana."""
    return service.build_channels(db, [grafana_annotations.retry_all(db, actor, channel_id)])[0]


@router.get("/grafana-annotations")
def list_grafana_annotations(  # noqa: PLR0917 - one parameter per query parameter
    db: DbDep,
    actor: CurrentActor,
    state: AnnotationState | None = None,
    channel: UUID | None = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> Page[GrafanaAnnotationResponse]:
    """List annotations in Grafana, newest first; `failed` ones were not delivered."""
    authorize(actor, "notification.read")
    return build_page(
        db,
        queries.select_annotations(state=state, channel_id=channel),
        GrafanaAnnotation.id,
        limit=limit,
        cursor=cursor,
        read=lambda rows: grafana_annotations.build_annotations(db, actor, rows),
    )


@router.post("/grafana-annotations/{annotation_id}/retry")
def retry_annotation(annotation_id: UUID, db: DbDep, actor: CurrentActor) -> GrafanaAnnotationResponse:
    """Retry a failed annotation."""
    return grafana_annotations.build_annotations(
        db, actor, [grafana_annotations.retry_annotation(db, actor, annotation_id)]
    )[0]


@router.get("/notifications")
def list_notifications(  # noqa: PLR0917 - one parameter per query parameter
    db: DbDep,
    actor: CurrentActor,
    state: NotificationState | None = None,
    channel: UUID | None = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> Page[NotificationResponse]:
    """List notifications, newest first; `failed` ones were not delivered."""
    authorize(actor, "notification.read")
    return build_page(
        db,
        queries.select_notifications(actor, state=state, channel_id=channel),
        Notification.number,
        limit=limit,
        cursor=cursor,
        kind=int,
        read=lambda rows: service.build_notifications(db, actor, rows),
    )


@router.post("/notifications/{notification_id}/retry")
def retry_notification(notification_id: UUID, db: DbDep, actor: CurrentActor) -> NotificationResponse:
    """Retry a failed notification."""
    return service.build_notifications(db, actor, [service.retry_notification(db, actor, notification_id)])[0]


@router.get("/notifications/{notification_id}/chart", response_class=Response)
def get_notification_chart(notification_id: UUID, db: DbDep, actor: CurrentActor) -> Response:
    """Return the chart of a notification as SVG."""
    authorize(actor, "notification.read")
    notification = queries.find_notification(db, actor, notification_id)
    chart = NotificationContent.from_stored(notification.message).chart if notification is not None else None
    if chart is None:
        raise NotFoundError("notification.no_chart")
    return Response(render_svg(chart, actor.locale), media_type="image/svg+xml", headers=CHART_HEADERS)


@router.get("/chart-images/{token}", response_class=Response)
def get_shared_chart(token: str, db: DbDep) -> Response:
    """Return the chart of a notification by its link, as PNG, for 30 days: chat programs have no account."""
    notification_id = service.parse_chart_token(token)
    notification = db.get(Notification, notification_id) if notification_id is not None else None
    shared = notification is not None and utc_now() - notification.created_at < timedelta(
        days=service.CHART_LINK_DAYS
    )
    chart = (
        NotificationContent.from_stored(notification.message).chart
        if notification is not None and shared
        else None
    )
    if chart is None:
        raise NotFoundError("notification.no_chart")
    return Response(render_png(chart), media_type="image/png", headers=CHART_HEADERS)
