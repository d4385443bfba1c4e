"""Annotations on their way to Grafana: what arrived, what did not and why, and those given up tried again.

Whose texts name hosts that somebody does not see, that somebody learns of the annotation without its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.annotations import Annotation
from culprit.infra.broker import announce
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, NotFound
from culprit.models import Channel, GrafanaAnnotation, Notice
from culprit.notices import queries
from culprit.notices.schemas import GrafanaAnnotationRead
from culprit.notices.service import SEND as SEND_NOTICE
from culprit.notices.service import begin_anew

SEND = "culprit.send_annotation"
#: What is sent at once of a channel that was away for long; the sweeper finds the rest.
RUNG_AT_ONCE = 100


def listed(*, state: str | None = None, channel_id: UUID | None = None) -> Select[GrafanaAnnotation]:
    """Those of all Grafanas."""
    query = select(GrafanaAnnotation)
    if state is not None:
        query = query.where(GrafanaAnnotation.state == state)
    return query if channel_id is None else query.where(GrafanaAnnotation.channel_id == channel_id)


def read(session: Session, actor: Actor, rows: Sequence[GrafanaAnnotation]) -> list[GrafanaAnnotationRead]:
    """Annotations as they are sent."""
    names = queries.names(session, {row.channel_id for row in rows})
    same = ("id", "channel_id", "removed", "state", "tries", "not_before", "failure", "created_at", "sent_at")
    found = []
    for row in rows:
        told = Annotation.of(row.key, row.wanted)
        found.append(
            GrafanaAnnotationRead(
                **{name: getattr(row, name) for name in same},
                channel=names.get(row.channel_id, ""),
                about=told.about,
                about_id=told.about_id,
                text=told.words if actor.unrestricted else "",
            )
        )
    return found


def again(session: Session, actor: Actor, annotation_id: UUID) -> GrafanaAnnotation:
    """Tries one that was given up again, with all its tries. Raises NotFound, Conflict."""
    policy(actor, "channel.manage")
    row = session.get(GrafanaAnnotation, annotation_id, with_for_update=True)
    if row is None:
        raise NotFound("annotation.not_sent_from_here")
    begin_anew(session, row, SEND)
    audit.record(session, actor, "grafana_annotation.again", "grafana_annotation", row.id, key=row.key)
    return row


def all_again(session: Session, actor: Actor, channel_id: UUID) -> Channel:
    """Tries all that one channel was not told in the end, messages and annotations. Raises NotFound, Conflict."""
    policy(actor, "channel.manage")
    channel = queries.channel(session, channel_id)
    if channel is None:
        raise NotFound("channel.not_found")
    if not channel.enabled:
        raise Conflict("channel.disabled", name=channel.name)
    tried = 0
    for what, task in ((Notice, SEND_NOTICE), (GrafanaAnnotation, SEND)):
        dead = update(what).where(what.channel_id == channel.id, what.state == "dead")
        queued = dead.values(state="queued", tries=0, failure=None, not_before=now()).returning(what.id)
        ids = session.scalars(queued.execution_options(synchronize_session=False)).all()
        for one in ids[:RUNG_AT_ONCE]:
            announce(session, task, one)
        tried += len(ids)
    audit.record(session, actor, "channel.again", "channel", channel.id, name=channel.name, tried=tried)
    return channel
