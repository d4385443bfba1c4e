"""Add, edit and withdraw comments, and notify mentioned users.

A comment never conflicts with another change of the incident. It is stored as plain text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor, build_actor
from culprit.accounts.authorization import authorize, is_allowed
from culprit.domain.notifications.message import NotificationContent
from culprit.domain.text.mentions import MAX_MENTIONS, clean_text, find_mentions, make_excerpt
from culprit.incidents.chain.verdicts import get_step_subject
from culprit.incidents.comments import queries as comment_queries
from culprit.incidents.comments.requests import CommentCreate, CommentUpdate
from culprit.incidents.comments.schemas import CommentResponse, EarlierTextResponse, MentionResponse
from culprit.incidents.records import journal, queries
from culprit.incidents.responses.chain import build_user_ref
from culprit.infra.db.clock import utc_now
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_comment import IncidentComment
from culprit.infra.models.notifications.notification import Notification
from culprit.infra.task_queue import enqueue_after_commit
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError, TooManyRequestsError

RESOURCE = "incident"
MAX_COMMENTS = 1000
MAX_EARLIER = 20
MAX_PER_MINUTE = 20
MAX_PEOPLE = 500
SEND_JOB = "culprit.send_notification"


def add_comment(
    session: Session, actor: Actor, incident_id: UUID, comment_create: CommentCreate
) -> IncidentComment:
    """Add a comment. Raises NotFoundError, ForbiddenError, InvalidRequestError, ConflictError, TooManyRequestsError."""
    incident = _lock_incident(session, actor, incident_id)
    text = _require_text(comment_create.text)
    _require_target(session, incident, comment_create.about, comment_create.ref)
    if comment_queries.count_comments(session, incident.id) >= MAX_COMMENTS:
        raise ConflictError("comment.too_many", limit=MAX_COMMENTS)
    minute_ago = utc_now() - timedelta(minutes=1)
    if comment_queries.count_comments_since(session, actor.id, minute_ago) >= MAX_PER_MINUTE:
        raise TooManyRequestsError("comment.too_often", retry_after_s=60)
    row = IncidentComment(
        incident_id=incident.id, about=comment_create.about, ref=comment_create.ref, text=text, by=actor.id
    )
    session.add(row)
    session.flush()
    _store_mentions(session, actor, incident, row)
    _append_entry(session, actor, incident, row, "comment_added")
    return row


def edit_comment(
    session: Session, actor: Actor, incident_id: UUID, comment_id: UUID, comment_update: CommentUpdate
) -> IncidentComment:
    """Edit an own comment; the earlier text stays visible. Raises the errors of `add_comment`."""
    incident = _lock_incident(session, actor, incident_id)
    row = _get_comment(session, incident, comment_id)
    if row.by != actor.id or row.withdrawn_at is not None:
        raise ConflictError("comment.not_yours")
    text = _require_text(comment_update.text)
    if text == row.text:
        return row
    if len(row.earlier) >= MAX_EARLIER:
        raise ConflictError("comment.too_many_edits", limit=MAX_EARLIER)
    at = utc_now()
    row.earlier = [*row.earlier, {"text": row.text, "until": at.isoformat()}]
    row.text, row.edited_at = text, at
    _store_mentions(session, actor, incident, row)
    _append_entry(session, actor, incident, row, "comment_edited")
    return row


def withdraw_comment(session: Session, actor: Actor, incident_id: UUID, comment_id: UUID) -> IncidentComment:
    """Withdraw a comment: delete its texts, keep the entry. Others' comments need the permission to resolve."""
    incident = _lock_incident(session, actor, incident_id)
    row = _get_comment(session, incident, comment_id)
    if row.by != actor.id and not is_allowed(actor, "incident.resolve"):
        raise ConflictError("comment.not_yours")
    if row.withdrawn_at is None:
        row.text, row.earlier = "", []
        row.withdrawn_at, row.withdrawn_by = utc_now(), actor.id
        _append_entry(session, actor, incident, row, "comment_withdrawn")
    return row


def list_people(session: Session, actor: Actor, incident_id: UUID) -> list[UserAccount]:
    """List the users who see this incident and can be mentioned."""
    authorize(actor, "incident.comment")
    return _list_mentionable_users(session, journal.get_incident(session, actor, incident_id))


def build_comments(session: Session, actor: Actor, rows: Sequence[IncidentComment]) -> list[CommentResponse]:
    """Build the responses of comments."""
    ids: list[UUID | None] = []
    for row in rows:
        ids += [row.by, row.withdrawn_by, *(UUID(mention["id"]) for mention in row.mentions)]
    names = queries.load_user_names(session, ids)
    moderates = is_allowed(actor, "incident.resolve")
    writes = is_allowed(actor, "incident.comment")
    return [
        CommentResponse(
            id=row.id,
            about=row.about,
            ref=row.ref,
            text=row.text,
            by=build_user_ref(row.by, names),
            at=row.at,
            edited_at=row.edited_at,
            earlier=[EarlierTextResponse(**item) for item in row.earlier],
            withdrawn_at=row.withdrawn_at,
            withdrawn_by=build_user_ref(row.withdrawn_by, names),
            mentions=[
                MentionResponse(
                    id=UUID(mention["id"]),
                    name=names.get(UUID(mention["id"]), ""),
                    notified=mention["notified"],
                )
                for mention in row.mentions
            ],
            can_edit=row.by == actor.id and writes,
            can_withdraw=writes and row.withdrawn_at is None and (row.by == actor.id or moderates),
        )
        for row in rows
    ]


def _lock_incident(session: Session, actor: Actor, incident_id: UUID) -> Incident:
    """Lock the incident without a version check. Raises NotFoundError, ForbiddenError."""
    authorize(actor, "incident.comment")
    incident = queries.find_incident(session, actor, incident_id, lock=True)
    if incident is None:
        raise NotFoundError("incident.not_found")
    return incident


def _get_comment(session: Session, incident: Incident, comment_id: UUID) -> IncidentComment:
    row = comment_queries.find_comment(session, incident.id, comment_id)
    if row is None:
        raise NotFoundError("comment.not_found")
    return row


def _require_text(value: str) -> str:
    text = clean_text(value)
    if not text:
        raise InvalidRequestError("comment.empty")
    return text


def _require_target(session: Session, incident: Incident, about: str, ref: str) -> None:
    """Raise InvalidRequestError if the incident has no such step, hypothesis or pin."""
    if about == "step":
        get_step_subject(session, incident, ref)
        return
    if about == "incident":
        known = {""}
    elif about == "pin":
        known = {str(pin.id) for pin in queries.list_pins(session, incident.id)}
    else:
        known = {hypothesis.key for hypothesis in queries.list_hypotheses(session, incident.id)}
    if ref not in known:
        raise InvalidRequestError("comment.about_nothing")


def _list_mentionable_users(session: Session, incident: Incident) -> list[UserAccount]:
    rows = comment_queries.list_enabled_users(session, 4 * MAX_PEOPLE)
    return [row for row in rows if _can_see(session, row, incident)][:MAX_PEOPLE]


def _can_see(session: Session, user: UserAccount, incident: Incident) -> bool:
    actor = build_actor(user)
    return actor.unrestricted or queries.find_incident(session, actor, incident.id) is not None


def _store_mentions(session: Session, actor: Actor, incident: Incident, row: IncidentComment) -> None:
    """Store the mentioned users, and notify those with a channel once for each comment."""
    if "@" not in row.text:
        return
    users = {item.name: item for item in _list_mentionable_users(session, incident)}
    named = dict.fromkeys(mention.name for mention in find_mentions(row.text, users))
    before = {mention["id"] for mention in row.mentions}
    new = [users[name] for name in named if str(users[name].id) not in before][: MAX_MENTIONS - len(before)]
    mentions = [
        {
            "id": str(user.id),
            "notified": user.id != actor.id and _notify_mentioned(session, actor, incident, row, user),
        }
        for user in new
    ]
    row.mentions = [*row.mentions, *mentions]


def _notify_mentioned(
    session: Session, actor: Actor, incident: Incident, row: IncidentComment, user: UserAccount
) -> bool:
    channels = comment_queries.list_enabled_channels(session, user.id)
    message = NotificationContent(
        outcome="mention",
        host="",
        incident=incident.number,
        paths={"incident": f"/incidents/{incident.id}?pane=comments"},
        who=actor.name,
        words=make_excerpt(row.text),
        title=incident.title,
    )
    for channel in channels:
        notification = Notification(channel_id=channel.id, about="mention", message=message.as_json())
        session.add(notification)
        session.flush()
        enqueue_after_commit(session, SEND_JOB, notification.id)
    return bool(channels)


def _append_entry(
    session: Session, actor: Actor, incident: Incident, row: IncidentComment, kind: str
) -> None:
    """Append a journal entry without the text, which can be withdrawn."""
    more: dict[str, Any] = {"comment": str(row.id)}
    journal.append_entry(session, incident, actor, kind, more=more, about=row.ref or f"#{incident.number}")
    audit.record_action(
        session, actor, f"incident.{kind}", RESOURCE, incident.id, comment=str(row.id), about=row.about
    )


def list_for_report(session: Session, incident: Incident) -> Iterable[IncidentComment]:
    """List the comments for a report, without withdrawn ones, the oldest first."""
    return comment_queries.list_published_comments(session, incident.id, MAX_COMMENTS)
