"""Decisions about channels and messages: who may lead where, what is tried again."""

from __future__ import annotations

import hashlib
import hmac
import secrets as random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.config import settings
from culprit.core.notices.chart import Chart
from culprit.core.notices.message import Figure, Message
from culprit.infra.broker import announce
from culprit.infra.mail import MailServer
from culprit.infra.outgoing import OutgoingError, address_of, check
from culprit.infra.secrets import vault
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.kit.uuid7 import uuid7
from culprit.models import Channel, GrafanaAnnotation, Notice, UserAccount
from culprit.notices import bodies, leads, queries
from culprit.notices.leads import Lead
from culprit.notices.schemas import ChannelCreate, ChannelRead, ChannelUpdate, NoticeRead

SEND = "culprit.send_notice"
#: Fields that a request's digest is made without: a digest of a secret is a way to guess it.
SECRETS: dict[str, Any] = {"url": True, "secret": True, "mail": {"password"}}
PICTURE_DAYS = 30


def create(session: Session, actor: Actor, body: ChannelCreate) -> tuple[Channel, str | None]:
    """A new channel, and the secret with which a webhook's messages are signed, told once.

    Raises Invalid where it may not be dialled, Conflict for a name that is taken.
    """
    policy(actor, "channel.manage")
    row = Channel(id=uuid7(), name=body.name, kind=body.kind, locale=body.locale, enabled=body.enabled)
    row.created_by = actor.id
    if body.user_id is not None:
        if session.get(UserAccount, body.user_id) is None:
            raise Invalid("user.not_found")
        row.user_id = body.user_id
    lead, secret = _lead(session, row, body)
    leads.seal(row, lead, vault())
    session.add(row)
    _named_alone(session, row)
    audit.record(
        session,
        actor,
        "channel.create",
        "channel",
        row.id,
        name=row.name,
        channel_kind=row.kind,
        leads=row.shown,
    )
    return row, secret


def _lead(session: Session, row: Channel, body: ChannelCreate) -> tuple[Lead, str | None]:
    try:
        if body.mail is not None:
            given = body.mail
            server = MailServer(
                given.host, given.port, given.security, given.username, given.password.get_secret_value()
            )
            check(server.place, queries.rules(session))
            row.shown = {
                "server": f"{given.host}:{given.port}",
                "to": list(given.to),
                "security": given.security,
            }
            return Lead(mail=server, sender=given.sender, to=tuple(given.to)), None
        assert body.url is not None
        url = body.url.get_secret_value().strip()
        place = address_of(url).place
        check(place, queries.rules(session))
    except OutgoingError as error:
        params: Any = error.sentence["params"]
        raise Invalid(f"outgoing.{error.kind}", **params) from None
    row.shown = {"server": place.shown, "picture_link": body.kind == "slack" and body.picture_link}
    if body.kind == "slack":
        return Lead(url=url), None
    if body.kind == "grafana":
        assert body.secret is not None
        return Lead(url=url, secret=body.secret.get_secret_value()), None
    secret = body.secret.get_secret_value() if body.secret else f"culprit_hook_{random.token_urlsafe(32)}"
    return Lead(url=url, secret=secret), secret


def update(session: Session, actor: Actor, channel_id: UUID, body: ChannelUpdate) -> Channel:
    """Changes its name, language, or whether anything is sent. Raises NotFound, Conflict."""
    policy(actor, "channel.manage")
    row = _one(session, channel_id)
    changed = body.model_dump(exclude_unset=True, exclude_none=True)
    for name, value in changed.items():
        setattr(row, name, value)
    _named_alone(session, row)
    audit.record(session, actor, "channel.change", "channel", row.id, name=row.name, changed=sorted(changed))
    return row


def remove(session: Session, actor: Actor, channel_id: UUID) -> None:
    """Forgets a channel with its messages."""
    policy(actor, "channel.manage")
    row = _one(session, channel_id)
    session.delete(row)
    audit.record(session, actor, "channel.remove", "channel", row.id, name=row.name)


def _one(session: Session, channel_id: UUID) -> Channel:
    row = queries.channel(session, channel_id)
    if row is None:
        raise NotFound("channel.not_found")
    return row


def _named_alone(session: Session, row: Channel) -> None:
    try:
        with session.begin_nested():
            session.flush()
    except IntegrityError:
        raise Conflict("channel.name_taken", name=row.name) from None


def test(session: Session, actor: Actor, channel_id: UUID) -> Notice:
    """A message with made-up numbers, on its way at once."""
    policy(actor, "channel.manage")
    row = _one(session, channel_id)
    if row.kind == "grafana":
        raise Conflict("channel.takes_no_messages", name=row.name)
    notice = Notice(channel_id=row.id, about="test", message=example().as_json())
    session.add(notice)
    session.flush()
    announce(session, SEND, notice.id)
    audit.record(session, actor, "channel.test", "channel", row.id, name=row.name, notice=str(notice.id))
    return notice


def example() -> Message:
    """What a message looks like, about no host."""
    title = {"en": "Waiting for a CPU", "zh": "等待 CPU"}
    values = tuple(round(2 + (at % 7) * 0.4 + (38 if at > 24 else 0), 1) for at in range(48))
    return Message(
        outcome="test",
        host="example-1",
        service="example",
        cause={"en": "Too many threads for its CPUs", "zh": "线程数超过 CPU 数"},
        figures=(
            Figure(title, 40.4, "ms", ">", 3.0, measure="example"),
            Figure(
                {"en": "Runnable threads for each CPU", "zh": "每个 CPU 的可运行线程数"}, 31.0, "", ">", 2.0
            ),
            Figure({"en": "CPUs busy", "zh": "CPU 使用率"}, 99.2, "pct", ">", 90.0),
        ),
        paths={"triggers": "/triggers"},
        chart=Chart(title, "ms", 40.4, 3.0, ">", tuple(float(at) for at in range(48)), values),
    )


def again(session: Session, actor: Actor, notice_id: UUID) -> Notice:
    """Tries a dead message again, with all its tries. Raises NotFound, Conflict."""
    policy(actor, "channel.manage")
    row = queries.notice(session, actor, notice_id, lock=True)
    if row is None:
        raise NotFound("notice.not_found")
    begin_anew(session, row, SEND)
    audit.record(session, actor, "notice.again", "notice", row.id, number=row.number)
    return row


def begin_anew(session: Session, row: Notice | GrafanaAnnotation, task: str) -> None:
    """Queues what was given up, with all its tries. Raises Conflict where it was not."""
    if row.state != "dead":
        raise Conflict("notice.not_dead", state=row.state)
    row.state, row.tries, row.failure, row.not_before = "queued", 0, None, now()
    announce(session, task, row.id)


def picture_token(notice_id: UUID) -> str:
    """The text that opens the picture of one message without an account: its id and a MAC of it."""
    return f"{notice_id.hex}{_mac(notice_id)}"


def picture_of(token: str) -> UUID | None:
    """The message that a token is of; None for one that was not made here."""
    if len(token) != 96 or not token.isascii() or not all(c in "0123456789abcdef" for c in token):
        return None
    notice_id = UUID(token[:32])
    return notice_id if hmac.compare_digest(token[32:], _mac(notice_id)) else None


def _mac(notice_id: UUID) -> str:
    """Under the platform's own key, for this purpose alone."""
    config = settings()
    key = config.key_ring()[config.secret_key_version]
    return hmac.new(key, b"culprit:picture:" + notice_id.bytes, hashlib.sha256).hexdigest()


def read_channels(session: Session, rows: Sequence[Channel], secret: str | None = None) -> list[ChannelRead]:
    """Channels as they are sent."""
    ids = [row.id for row in rows]
    counts, newest = queries.counts(session, ids), queries.newest(session, ids)
    same = ("id", "name", "kind", "locale", "enabled", "user_id", "shown", "created_at")
    found = []
    for row in rows:
        last = newest.get(row.id)
        found.append(
            ChannelRead(
                **{name: getattr(row, name) for name in same},
                queued=counts.get(row.id, {}).get("queued", 0),
                dead=counts.get(row.id, {}).get("dead", 0),
                last_state=last.state if last else None,
                last_at=last.created_at if last else None,
                secret=secret,
            )
        )
    return found


def read_notices(session: Session, actor: Actor, rows: Sequence[Notice]) -> list[NoticeRead]:
    """Messages as they are sent, told in the reader's language."""
    names = queries.names(session, {row.channel_id for row in rows})
    same = (
        "id", "number", "channel_id", "about", "state", "tries", "not_before", "failure", "created_at", "sent_at",
    )  # fmt: skip
    return [
        NoticeRead(
            **{name: getattr(row, name) for name in same},
            channel=names.get(row.channel_id, ""),
            message={**bodies.told(row.message, actor.locale), "paths": row.message.get("paths", {})},
        )
        for row in rows
    ]
