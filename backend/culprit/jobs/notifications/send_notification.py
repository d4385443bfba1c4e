"""The job that sends one notification.

The attempt is counted and the next one is planned before anything is sent, so that a lost worker only delays
the notification. It may arrive twice; its ID is in the body and in a header, so that receivers can recognize
that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import func, update
from sqlalchemy.orm import Session

from culprit.accounts.queries.restrictions import load_network_rules
from culprit.domain.alerts.proof import compute_signature
from culprit.domain.notifications.message import NotificationContent
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.models.notifications.notification import Notification
from culprit.infra.network.addresses import AddressRule
from culprit.infra.network.http_client import OutgoingError, Request, parse_url, send_request
from culprit.infra.network.mail import send_mail
from culprit.infra.vault import SecretUnreadableError, get_vault
from culprit.jobs.job import Job
from culprit.jobs.notifications.locks import lock_due_notification
from culprit.jobs.notifications.queries import pending_notifications
from culprit.notifications import destinations, message_bodies
from culprit.notifications.destinations import Destination
from culprit.notifications.service import build_chart_token

#: Seconds until the next attempt after the first, the second, …; after the last one it is failed (about 4.5
#: hours).
PAUSES_S = (10, 30, 120, 600, 1800, 3600, 10_800)
ANSWER_S = 15.0
ANSWER_BYTES = 64 << 10
#: Permanent failures. 408, 425 and 429 request another attempt.
RETRYABLE_STATUSES = frozenset({408, 425, 429})
#: Errors of the address itself, which are permanent.
PERMANENT_KINDS = frozenset({"url", "not_allowed", "redirect"})
log = structlog.get_logger("culprit.send_notification")


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """Data of an attempt, read before the connection. Contains secrets."""

    notification_id: UUID
    number: int
    kind: str
    locale: str
    message: NotificationContent
    lead: Destination
    rules: tuple[AddressRule, ...]
    chart_link: bool


def send_notification(notification_id: UUID) -> str | None:
    """Send one notification once. Return the new state, or None if it is not due."""
    with unit_of_work(get_database().sessions) as session:
        attempt = _start_attempt(session, notification_id)
        if attempt is None or isinstance(attempt, str):
            return attempt
    try:
        _deliver(attempt)
    except OutgoingError as error:
        return _record_outcome(attempt, error)
    return _record_outcome(attempt, None)


def _start_attempt(session: Session, notification_id: UUID) -> DeliveryAttempt | str | None:
    """Count the attempt. Return a state if the delivery ends here."""
    notice = lock_due_notification(session, notification_id)
    if notice is None:
        return None
    channel = session.get_one(Channel, notice.channel_id)
    if not channel.enabled:
        return _mark_failed(notice, {"key": "channel.disabled", "params": {"name": channel.name}})
    try:
        lead = destinations.open_destination(channel, get_vault())
    except SecretUnreadableError:
        return _mark_failed(notice, {"key": "channel.unreadable", "params": {"name": channel.name}})
    pause = PAUSES_S[min(notice.attempts, len(PAUSES_S) - 1)]
    notice.attempts += 1
    notice.not_before = func.clock_timestamp() + timedelta(seconds=max(pause, 2 * ANSWER_S))
    session.flush()
    return DeliveryAttempt(
        notice.id,
        notice.attempts,
        channel.kind,
        channel.locale,
        NotificationContent.from_stored(notice.message),
        lead,
        load_network_rules(session),
        bool(channel.destination.get("chart_link")),
    )


def _mark_failed(notice: Notification, why: dict[str, Any]) -> str:
    notice.state, notice.failure = "failed", why
    return "failed"


def _deliver(delivery_attempt: DeliveryAttempt) -> None:
    """Send it. Raises OutgoingError."""
    if delivery_attempt.lead.mail is not None:
        letter = message_bodies.build_mail(
            str(delivery_attempt.notification_id),
            delivery_attempt.message,
            delivery_attempt.locale,
            delivery_attempt.lead.sender,
            delivery_attempt.lead.to,
        )
        send_mail(delivery_attempt.lead.mail, letter, delivery_attempt.rules)
        return
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "culprit",
        "X-Culprit-Notification": str(delivery_attempt.notification_id),
    }
    if delivery_attempt.kind == "slack":
        link = (
            message_bodies.build_link(
                f"/api/v1/chart-images/{build_chart_token(delivery_attempt.notification_id)}"
            )
            if delivery_attempt.chart_link
            else ""
        )
        body = message_bodies.build_slack(
            delivery_attempt.message, delivery_attempt.locale, link if delivery_attempt.message.chart else ""
        )
    else:
        body = message_bodies.build_webhook(
            str(delivery_attempt.notification_id), delivery_attempt.message, delivery_attempt.locale
        )
        at_s = int(time.time())
        headers["X-Culprit-Timestamp"] = str(at_s)
        headers["X-Culprit-Signature"] = (
            f"v1={compute_signature(delivery_attempt.lead.secret.encode(), at_s, body)}"
        )
    address = parse_url(delivery_attempt.lead.url)
    endpoint = address.endpoint
    request = Request(endpoint, address.target, headers, body)
    reply = send_request(request, delivery_attempt.rules, total_s=ANSWER_S, limit=ANSWER_BYTES)
    if not 200 <= reply.status < 300:
        raise OutgoingError("status", host=endpoint.host, status=reply.status)


def _record_outcome(delivery_attempt: DeliveryAttempt, error: OutgoingError | None) -> str:
    """Store whether it was sent, will be repeated, or failed."""
    values: dict[str, Any] = {"state": "sent", "failure": None, "sent_at": func.clock_timestamp()}
    if error is not None:
        pause = PAUSES_S[min(delivery_attempt.number - 1, len(PAUSES_S) - 1)]
        values = {"failure": error.sentence, "not_before": func.clock_timestamp() + timedelta(seconds=pause)}
        if is_permanent(error) or delivery_attempt.number > len(PAUSES_S):
            values["state"] = "failed"
        log.info(
            "notice_failed",
            notice=str(delivery_attempt.notification_id),
            attempts=delivery_attempt.number,
            kind=error.kind,
        )
    with unit_of_work(get_database().sessions) as session:
        session.execute(
            update(Notification)
            .where(
                Notification.id == delivery_attempt.notification_id,
                Notification.state == "queued",
                Notification.attempts == delivery_attempt.number,
            )
            .values(**values)
            .execution_options(synchronize_session=False)
        )
    return str(values.get("state", "queued"))


def is_permanent(error: OutgoingError) -> bool:
    """Return whether another attempt cannot succeed."""
    params: Any = error.sentence["params"]
    if error.kind == "status":
        return 400 <= int(params["status"]) < 500 and int(params["status"]) not in RETRYABLE_STATUSES
    if error.kind == "mail":
        return int(params["code"]) >= 500
    return error.kind in PERMANENT_KINDS


JOB = Job("culprit.send_notification", "ssh", send_notification, pending_notifications)
