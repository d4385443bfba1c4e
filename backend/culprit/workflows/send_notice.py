"""One try to deliver one message: the task `culprit.send_notice`.

The try is counted and the next one set before anything is sent, so that a worker that is lost in between delays the
message and loses nothing. A message may arrive twice; its id is in it and in a header, so that this can be told.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from culprit.core.alerts.proof import signature
from culprit.core.notices.message import Message
from culprit.infra.addresses import Rule
from culprit.infra.db import database
from culprit.infra.mail import send_mail
from culprit.infra.outgoing import OutgoingError, Request, address_of, fetch
from culprit.infra.secrets import SecretUnreadable, vault
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Channel, Notice
from culprit.notices import bodies, leads, queries
from culprit.notices.leads import Lead
from culprit.notices.service import picture_token

#: Seconds until the next try after the first, the second, …; after the last one a message is dead (about 4.5 hours).
PAUSES_S = (10, 30, 120, 600, 1800, 3600, 10_800)
ANSWER_S = 15.0
ANSWER_BYTES = 64 << 10
#: Answers that another try would not change. 408, 425 and 429 ask for one.
AGAIN = frozenset({408, 425, 429})
#: What is wrong with the address itself, and not with the moment.
FOR_GOOD = frozenset({"url", "not_allowed", "redirect"})
log = structlog.get_logger("culprit.send_notice")


@dataclass(frozen=True, slots=True)
class _Try:
    """Everything that a try needs, read from the database before the network is waited for. Holds secrets."""

    notice_id: UUID
    number: int
    kind: str
    locale: str
    message: Message
    lead: Lead
    rules: tuple[Rule, ...]
    picture_link: bool


def send_notice(notice_id: UUID) -> str | None:
    """Try once. Returns the state that the message is left in; None where it is not its time."""
    with unit_of_work(database().sessions) as session:
        found = _begin(session, notice_id)
        if found is None or isinstance(found, str):
            return found
    try:
        _deliver(found)
    except OutgoingError as error:
        return _settle(found, error)
    return _settle(found, None)


def _begin(session: Session, notice_id: UUID) -> _Try | str | None:
    """Counts the try. A state where it ends here already."""
    notice = session.scalar(
        select(Notice)
        .where(Notice.id == notice_id, Notice.state == "queued", Notice.not_before <= func.clock_timestamp())
        .with_for_update(skip_locked=True)
    )
    if notice is None:
        return None
    channel = session.get_one(Channel, notice.channel_id)
    if not channel.enabled:
        return _dead(notice, {"key": "channel.disabled", "params": {"name": channel.name}})
    try:
        lead = leads.opened(channel, vault())
    except SecretUnreadable:
        return _dead(notice, {"key": "channel.unreadable", "params": {"name": channel.name}})
    pause = PAUSES_S[min(notice.tries, len(PAUSES_S) - 1)]
    notice.tries += 1
    notice.not_before = func.clock_timestamp() + timedelta(seconds=max(pause, 2 * ANSWER_S))
    session.flush()
    return _Try(
        notice.id,
        notice.tries,
        channel.kind,
        channel.locale,
        Message.of(notice.message),
        lead,
        queries.rules(session),
        bool(channel.shown.get("picture_link")),
    )


def _dead(notice: Notice, why: dict[str, Any]) -> str:
    notice.state, notice.failure = "dead", why
    return "dead"


def _deliver(one: _Try) -> None:
    """Sends it. Raises OutgoingError."""
    if one.lead.mail is not None:
        letter = bodies.mail(str(one.notice_id), one.message, one.locale, one.lead.sender, one.lead.to)
        send_mail(one.lead.mail, letter, one.rules)
        return
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "culprit",
        "X-Culprit-Notice": str(one.notice_id),
    }
    if one.kind == "slack":
        link = bodies.link(f"/api/v1/pictures/{picture_token(one.notice_id)}") if one.picture_link else ""
        body = bodies.slack(one.message, one.locale, link if one.message.chart else "")
    else:
        body = bodies.webhook(str(one.notice_id), one.message, one.locale)
        at_s = int(time.time())
        headers["X-Culprit-Timestamp"] = str(at_s)
        headers["X-Culprit-Signature"] = f"v1={signature(one.lead.secret.encode(), at_s, body)}"
    address = address_of(one.lead.url)
    place = address.place
    request = Request(place, address.target, headers, body)
    reply = fetch(request, one.rules, total_s=ANSWER_S, limit=ANSWER_BYTES)
    if not 200 <= reply.status < 300:
        raise OutgoingError("status", host=place.host, status=reply.status)


def _settle(one: _Try, error: OutgoingError | None) -> str:
    """It has arrived, is tried again, or is dead."""
    values: dict[str, Any] = {"state": "sent", "failure": None, "sent_at": func.clock_timestamp()}
    if error is not None:
        pause = PAUSES_S[min(one.number - 1, len(PAUSES_S) - 1)]
        values = {"failure": error.sentence, "not_before": func.clock_timestamp() + timedelta(seconds=pause)}
        if final(error) or one.number > len(PAUSES_S):
            values["state"] = "dead"
        log.info("notice_failed", notice=str(one.notice_id), tries=one.number, kind=error.kind)
    with unit_of_work(database().sessions) as session:
        session.execute(
            update(Notice)
            .where(Notice.id == one.notice_id, Notice.state == "queued", Notice.tries == one.number)
            .values(**values)
            .execution_options(synchronize_session=False)
        )
    return str(values.get("state", "queued"))


def final(error: OutgoingError) -> bool:
    """Whether another try could not end otherwise."""
    params: Any = error.sentence["params"]
    if error.kind == "status":
        return 400 <= int(params["status"]) < 500 and int(params["status"]) not in AGAIN
    if error.kind == "mail":
        return int(params["code"]) >= 500
    return error.kind in FOR_GOOD
