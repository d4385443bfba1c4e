"""Every SELECT about channels and messages."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import Select, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.infra.addresses import Rule
from culprit.models import Channel, GrafanaAnnotation, Host, NetworkRule, Notice


def channels() -> Select[Channel]:
    """All of them: who may see one may see all."""
    return select(Channel)


def channel(session: Session, channel_id: UUID) -> Channel | None:
    """One, locked."""
    return session.scalar(select(Channel).where(Channel.id == channel_id).with_for_update())


def notices(actor: Actor, *, state: str | None = None, channel_id: UUID | None = None) -> Select[Notice]:
    """The messages about hosts that exist for this actor, and tests."""
    query = select(Notice)
    if not actor.unrestricted:
        query = query.where(
            or_(Notice.host_id.is_(None), Notice.host_id.in_(select(Host.id).where(visible(actor))))
        )
    if state is not None:
        query = query.where(Notice.state == state)
    return query if channel_id is None else query.where(Notice.channel_id == channel_id)


def notice(session: Session, actor: Actor, notice_id: UUID, *, lock: bool = False) -> Notice | None:
    """One, where it exists for this actor."""
    query = notices(actor).where(Notice.id == notice_id)
    return session.scalar(query.with_for_update(of=Notice) if lock else query)


def counts(session: Session, ids: Collection[UUID]) -> dict[UUID, dict[str, int]]:
    """Messages and annotations by channel and state."""
    query = (
        select(Notice.channel_id, Notice.state, func.count())
        .where(Notice.channel_id.in_(ids), Notice.state != "sent")
        .group_by(Notice.channel_id, Notice.state)
    )
    drawn = (
        select(GrafanaAnnotation.channel_id, GrafanaAnnotation.state, func.count())
        .where(GrafanaAnnotation.channel_id.in_(ids), GrafanaAnnotation.state.in_(("queued", "dead")))
        .group_by(GrafanaAnnotation.channel_id, GrafanaAnnotation.state)
    )
    found: dict[UUID, dict[str, int]] = {}
    for channel_id, state, count in (*session.execute(query), *session.execute(drawn)):
        found.setdefault(channel_id, {})[state] = count
    return found


def newest(session: Session, ids: Collection[UUID]) -> dict[UUID, Notice]:
    """The newest message of each channel."""
    query = select(Notice).where(Notice.channel_id.in_(ids)).ext(distinct_on(Notice.channel_id))
    rows = session.scalars(query.order_by(Notice.channel_id, Notice.number.desc()))
    return {row.channel_id: row for row in rows}


def names(session: Session, ids: Collection[UUID]) -> dict[UUID, str]:
    """Names of channels."""
    rows = session.execute(select(Channel.id, Channel.name).where(Channel.id.in_(ids)))
    return {row.id: row.name for row in rows}


def rules(session: Session) -> tuple[Rule, ...]:
    """The allow-list: what may be sent to is what may be dialled at all."""
    return tuple(
        Rule(str(rule.cidr), rule.port_from, rule.port_to) for rule in session.scalars(select(NetworkRule))
    )
