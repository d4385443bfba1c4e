"""SELECTs of channels and notifications."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import Select, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.models.notifications.grafana_annotation import GrafanaAnnotation
from culprit.infra.models.notifications.notification import Notification


def select_channels() -> Select[Channel]:
    """Select all channels; the permission to see channels is not limited to hosts."""
    return select(Channel)


def lock_channel(session: Session, channel_id: UUID) -> Channel | None:
    """Return a channel, locked, or None."""
    return session.scalar(select(Channel).where(Channel.id == channel_id).with_for_update())


def select_notifications(
    actor: Actor, *, state: str | None = None, channel_id: UUID | None = None
) -> Select[Notification]:
    """Select the notifications about visible hosts, and tests."""
    query = select(Notification)
    if not actor.unrestricted:
        query = query.where(
            or_(
                Notification.host_id.is_(None),
                Notification.host_id.in_(select(Host.id).where(visible_hosts_clause(actor))),
            )
        )
    if state is not None:
        query = query.where(Notification.state == state)
    return query if channel_id is None else query.where(Notification.channel_id == channel_id)


def find_notification(
    session: Session, actor: Actor, notification_id: UUID, *, lock: bool = False
) -> Notification | None:
    """Return a visible notification, or None."""
    query = select_notifications(actor).where(Notification.id == notification_id)
    return session.scalar(query.with_for_update(of=Notification) if lock else query)


def select_annotations(
    *, state: str | None = None, channel_id: UUID | None = None
) -> Select[GrafanaAnnotation]:
    """Select the annotations of all Grafana channels."""
    query = select(GrafanaAnnotation)
    if state is not None:
        query = query.where(GrafanaAnnotation.state == state)
    return query if channel_id is None else query.where(GrafanaAnnotation.channel_id == channel_id)


def count_by_state(session: Session, ids: Collection[UUID]) -> dict[UUID, dict[str, int]]:
    """Return the number of notifications and annotations by channel and state."""
    query = (
        select(Notification.channel_id, Notification.state, func.count())
        .where(Notification.channel_id.in_(ids), Notification.state != "sent")
        .group_by(Notification.channel_id, Notification.state)
    )
    rendered = (
        select(GrafanaAnnotation.channel_id, GrafanaAnnotation.state, func.count())
        .where(GrafanaAnnotation.channel_id.in_(ids), GrafanaAnnotation.state.in_(("queued", "failed")))
        .group_by(GrafanaAnnotation.channel_id, GrafanaAnnotation.state)
    )
    results: dict[UUID, dict[str, int]] = {}
    for channel_id, state, count in (*session.execute(query), *session.execute(rendered)):
        results.setdefault(channel_id, {})[state] = count
    return results


def load_latest_notifications(session: Session, ids: Collection[UUID]) -> dict[UUID, Notification]:
    """Return the newest notification of each channel."""
    query = (
        select(Notification).where(Notification.channel_id.in_(ids)).ext(distinct_on(Notification.channel_id))
    )
    rows = session.scalars(query.order_by(Notification.channel_id, Notification.number.desc()))
    return {row.channel_id: row for row in rows}


def load_channel_names(session: Session, ids: Collection[UUID]) -> dict[UUID, str]:
    """Return channel names by ID."""
    rows = session.execute(select(Channel.id, Channel.name).where(Channel.id.in_(ids)))
    return {row.id: row.name for row in rows}
