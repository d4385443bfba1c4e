"""Annotations in Grafana: list them with their delivery state, and retry failed ones.

A user who does not see all hosts sees annotations without their text, because it can contain names of other
hosts.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.integrations.grafana import AnnotationContent
from culprit.infra.db.clock import utc_now
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.models.notifications.grafana_annotation import GrafanaAnnotation
from culprit.infra.models.notifications.notification import Notification
from culprit.infra.task_queue import enqueue_after_commit
from culprit.notifications import queries
from culprit.notifications.schemas import GrafanaAnnotationResponse
from culprit.notifications.service import SEND_NOTIFICATION, requeue_failed
from culprit.web.errors import ConflictError, NotFoundError

SEND_ANNOTATION = "culprit.send_annotation"
#: Number of annotations that are queued immediately; the sweep queues the rest.
ENQUEUED_AT_ONCE = 100


def build_annotations(
    session: Session, actor: Actor, rows: Sequence[GrafanaAnnotation]
) -> list[GrafanaAnnotationResponse]:
    """Build the responses of annotations."""
    names = queries.load_channel_names(session, {row.channel_id for row in rows})
    same = (
        "id",
        "channel_id",
        "is_deleted",
        "state",
        "attempts",
        "not_before",
        "failure",
        "created_at",
        "sent_at",
    )
    results = []
    for row in rows:
        annotation = AnnotationContent.from_stored(row.key, row.body)
        results.append(
            GrafanaAnnotationResponse(
                **{name: getattr(row, name) for name in same},
                channel=names.get(row.channel_id, ""),
                about=annotation.subject_kind,
                about_id=annotation.subject_id,
                text=annotation.plain_text if actor.unrestricted else "",
            )
        )
    return results


def retry_annotation(session: Session, actor: Actor, annotation_id: UUID) -> GrafanaAnnotation:
    """Retry a failed annotation with all its attempts. Raises NotFoundError, ConflictError."""
    authorize(actor, "channel.manage")
    row = session.get(GrafanaAnnotation, annotation_id, with_for_update=True)
    if row is None:
        raise NotFoundError("annotation.not_sent_from_here")
    requeue_failed(session, row, SEND_ANNOTATION)
    audit.record_action(session, actor, "grafana_annotation.again", "grafana_annotation", row.id, key=row.key)
    return row


def retry_all(session: Session, actor: Actor, channel_id: UUID) -> Channel:
    """Retry all failed messages and annotations of a channel. Raises NotFoundError, ConflictError."""
    authorize(actor, "channel.manage")
    channel = queries.lock_channel(session, channel_id)
    if channel is None:
        raise NotFoundError("channel.not_found")
    if not channel.enabled:
        raise ConflictError("channel.disabled", name=channel.name)
    tried = 0
    for what, task in ((Notification, SEND_NOTIFICATION), (GrafanaAnnotation, SEND_ANNOTATION)):
        dead = update(what).where(what.channel_id == channel.id, what.state == "failed")
        queued = dead.values(state="queued", attempts=0, failure=None, not_before=utc_now()).returning(
            what.id
        )
        ids = session.scalars(queued.execution_options(synchronize_session=False)).all()
        for item in ids[:ENQUEUED_AT_ONCE]:
            enqueue_after_commit(session, task, item)
        tried += len(ids)
    audit.record_action(
        session, actor, "channel.again", "channel", channel.id, name=channel.name, tried=tried
    )
    return channel
