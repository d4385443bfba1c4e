"""Comments on an incident: written, mended, taken back, and who is told of it.

They change nothing of what was found: whoever works on the incident meanwhile is told and not refused. A comment is as
the person wrote it, in plain text; what screens make of it is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor, actor_of
from culprit.auth.policy import allowed, policy
from culprit.core.comments import MOST_MENTIONS, clean, excerpt, mentions
from culprit.core.notices.message import Message
from culprit.incidents import journal, queries
from culprit.incidents.given_comments import CommentAdd, CommentPatch
from culprit.incidents.read_chain import person
from culprit.incidents.schemas_comments import CommentRead, EarlierRead, MentionRead
from culprit.incidents.verdicts import step_about
from culprit.infra.broker import announce
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound, TooMany
from culprit.models import Channel, Incident, IncidentComment, Notice, UserAccount

RESOURCE = "incident"
MOST = 1000
MOST_EARLIER = 20
PER_MINUTE = 20
MOST_PEOPLE = 500
SEND = "culprit.send_notice"


def listed(incident: Incident) -> Select[IncidentComment]:
    """The comments of an incident."""
    return select(IncidentComment).where(IncidentComment.incident_id == incident.id)


def add(session: Session, actor: Actor, incident_id: UUID, wanted: CommentAdd) -> IncidentComment:
    """Write one. Raises NotFound, Forbidden, Invalid, Conflict, TooMany."""
    incident = _claim(session, actor, incident_id)
    text = _text(wanted.text)
    _exists(session, incident, wanted.about, wanted.ref)
    own = listed(incident).with_only_columns(func.count())
    if session.scalars(own).one() >= MOST:
        raise Conflict("comment.too_many", limit=MOST)
    recent = select(func.count()).where(
        IncidentComment.by == actor.id, IncidentComment.at > now() - timedelta(minutes=1)
    )
    if session.scalars(recent).one() >= PER_MINUTE:
        raise TooMany("comment.too_often", retry_after_s=60)
    row = IncidentComment(incident_id=incident.id, about=wanted.about, ref=wanted.ref, text=text, by=actor.id)
    session.add(row)
    session.flush()
    _mention(session, actor, incident, row)
    _enter(session, actor, incident, row, "comment")
    return row


def mend(
    session: Session, actor: Actor, incident_id: UUID, comment_id: UUID, wanted: CommentPatch
) -> IncidentComment:
    """Say it better; what it said before stays to be seen. Only who wrote it. Raises as `add` does."""
    incident = _claim(session, actor, incident_id)
    row = _one(session, incident, comment_id)
    if row.by != actor.id or row.withdrawn_at is not None:
        raise Conflict("comment.not_yours")
    text = _text(wanted.text)
    if text == row.text:
        return row
    if len(row.earlier) >= MOST_EARLIER:
        raise Conflict("comment.too_many_edits", limit=MOST_EARLIER)
    at = now()
    row.earlier = [*row.earlier, {"text": row.text, "until": at.isoformat()}]
    row.text, row.edited_at = text, at
    _mention(session, actor, incident, row)
    _enter(session, actor, incident, row, "comment_edited")
    return row


def withdraw(session: Session, actor: Actor, incident_id: UUID, comment_id: UUID) -> IncidentComment:
    """Take one back: that it stood there stays to be seen, its words do not. One's own, or as who may resolve."""
    incident = _claim(session, actor, incident_id)
    row = _one(session, incident, comment_id)
    if row.by != actor.id and not allowed(actor, "incident.resolve"):
        raise Conflict("comment.not_yours")
    if row.withdrawn_at is None:
        row.text, row.earlier = "", []
        row.withdrawn_at, row.withdrawn_by = now(), actor.id
        _enter(session, actor, incident, row, "comment_withdrawn")
    return row


def people(session: Session, actor: Actor, incident_id: UUID) -> list[UserAccount]:
    """Who can be named here: accounts for which this incident exists."""
    policy(actor, "incident.comment")
    return _people(session, journal.found(session, actor, incident_id))


def read(session: Session, actor: Actor, rows: Sequence[IncidentComment]) -> list[CommentRead]:
    """Comments as they are sent."""
    ids: list[UUID | None] = []
    for row in rows:
        ids += [row.by, row.withdrawn_by, *(UUID(one["id"]) for one in row.mentions)]
    names = queries.names(session, ids)
    moderates = allowed(actor, "incident.resolve")
    writes = allowed(actor, "incident.comment")
    return [
        CommentRead(
            id=row.id,
            about=row.about,
            ref=row.ref,
            text=row.text,
            by=person(row.by, names),
            at=row.at,
            edited_at=row.edited_at,
            earlier=[EarlierRead(**one) for one in row.earlier],
            withdrawn_at=row.withdrawn_at,
            withdrawn_by=person(row.withdrawn_by, names),
            mentions=[
                MentionRead(id=UUID(one["id"]), name=names.get(UUID(one["id"]), ""), told=one["told"])
                for one in row.mentions
            ],
            mine=row.by == actor.id and writes,
            may_withdraw=writes and row.withdrawn_at is None and (row.by == actor.id or moderates),
        )
        for row in rows
    ]


def _claim(session: Session, actor: Actor, incident_id: UUID) -> Incident:
    """The incident, locked, whatever version of it the person saw. Raises NotFound, Forbidden."""
    policy(actor, "incident.comment")
    one = queries.incident(session, actor, incident_id, lock=True)
    if one is None:
        raise NotFound("incident.not_found")
    return one


def _one(session: Session, incident: Incident, comment_id: UUID) -> IncidentComment:
    row = session.scalars(listed(incident).where(IncidentComment.id == comment_id)).first()
    if row is None:
        raise NotFound("comment.not_found")
    return row


def _text(given: str) -> str:
    text = clean(given)
    if not text:
        raise Invalid("comment.empty")
    return text


def _exists(session: Session, incident: Incident, about: str, ref: str) -> None:
    """Raises Invalid for something that this incident does not have."""
    if about == "step":
        step_about(session, incident, ref)
        return
    if about == "incident":
        known = {""}
    elif about == "pin":
        known = {str(one.id) for one in queries.pins(session, incident.id)}
    else:
        known = {one.key for one in queries.hypotheses(session, incident.id)}
    if ref not in known:
        raise Invalid("comment.about_nothing")


def _people(session: Session, incident: Incident) -> list[UserAccount]:
    query = select(UserAccount).where(UserAccount.disabled_at.is_(None)).order_by(UserAccount.name)
    rows = session.scalars(query.limit(4 * MOST_PEOPLE))
    return [one for one in rows if _sees(session, one, incident)][:MOST_PEOPLE]


def _sees(session: Session, user: UserAccount, incident: Incident) -> bool:
    actor = actor_of(user)
    return actor.unrestricted or queries.incident(session, actor, incident.id) is not None


def _mention(session: Session, actor: Actor, incident: Incident, row: IncidentComment) -> None:
    """Notes who is named, and tells those who have a channel, once for each comment."""
    if "@" not in row.text:
        return
    users = {one.name: one for one in _people(session, incident)}
    named = dict.fromkeys(one.name for one in mentions(row.text, users))
    before = {one["id"] for one in row.mentions}
    new = [users[name] for name in named if str(users[name].id) not in before][: MOST_MENTIONS - len(before)]
    told = [
        {"id": str(user.id), "told": user.id != actor.id and _tell(session, actor, incident, row, user)}
        for user in new
    ]
    row.mentions = [*row.mentions, *told]


def _tell(
    session: Session, actor: Actor, incident: Incident, row: IncidentComment, user: UserAccount
) -> bool:
    channels = session.scalars(select(Channel).where(Channel.user_id == user.id, Channel.enabled)).all()
    message = Message(
        outcome="mention",
        host="",
        incident=incident.number,
        paths={"incident": f"/incidents/{incident.id}?pane=comments"},
        who=actor.name,
        words=excerpt(row.text),
        title=incident.title,
    )
    for channel in channels:
        notice = Notice(channel_id=channel.id, about="mention", message=message.as_json())
        session.add(notice)
        session.flush()
        announce(session, SEND, notice.id)
    return bool(channels)


def _enter(session: Session, actor: Actor, incident: Incident, row: IncidentComment, kind: str) -> None:
    """Into the journal: about what somebody wrote, and never the words, which may be taken back."""
    more: dict[str, Any] = {"comment": str(row.id)}
    journal.enter(session, incident, actor, kind, more=more, about=row.ref or f"#{incident.number}")
    audit.record(
        session, actor, f"incident.{kind}", RESOURCE, incident.id, comment=str(row.id), about=row.about
    )


def told_in_report(session: Session, incident: Incident) -> Iterable[IncidentComment]:
    """Those that a report may hold, the oldest first."""
    query = listed(incident).where(IncidentComment.withdrawn_at.is_(None)).order_by(IncidentComment.id)
    return session.scalars(query.limit(MOST))
