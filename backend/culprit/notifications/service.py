"""Create, change and delete channels, and retry failed notifications."""

from __future__ import annotations

import hashlib
import hmac
import secrets as random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.domain.notifications.chart import Chart
from culprit.domain.notifications.message import MessageNumber, NotificationContent
from culprit.infra.db.clock import utc_now
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.models.notifications.grafana_annotation import GrafanaAnnotation
from culprit.infra.models.notifications.notification import Notification
from culprit.infra.network.http_client import OutgoingError, check_endpoint, parse_url
from culprit.infra.network.mail import MailServer
from culprit.infra.settings import get_settings
from culprit.infra.task_queue import enqueue_after_commit
from culprit.infra.vault import get_vault
from culprit.notifications import destinations, message_bodies, queries
from culprit.notifications.destinations import Destination
from culprit.notifications.schemas import ChannelCreate, ChannelResponse, ChannelUpdate, NotificationResponse
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError

SEND_NOTIFICATION = "culprit.send_notification"
#: Fields that are not part of a request's digest: secrets could be guessed from it.
SECRETS: dict[str, Any] = {"url": True, "secret": True, "mail": {"password"}}
CHART_LINK_DAYS = 30


def create_channel(session: Session, actor: Actor, body: ChannelCreate) -> tuple[Channel, str | None]:
    """Create a channel; return it with its webhook secret.

    Raises InvalidRequestError if its address is not allowed, ConflictError if the name is taken.
    """
    authorize(actor, "channel.manage")
    row = Channel(id=new_uuid7(), name=body.name, kind=body.kind, locale=body.locale, enabled=body.enabled)
    row.created_by = actor.id
    if body.user_id is not None:
        if session.get(UserAccount, body.user_id) is None:
            raise InvalidRequestError("user.not_found")
        row.user_id = body.user_id
    lead, secret = _build_destination(session, row, body)
    destinations.seal_destination(row, lead, get_vault())
    session.add(row)
    _require_unique_name(session, row)
    audit.record_action(
        session,
        actor,
        "channel.create",
        "channel",
        row.id,
        name=row.name,
        channel_kind=row.kind,
        leads=row.destination,
    )
    return row, secret


def _build_destination(session: Session, row: Channel, body: ChannelCreate) -> tuple[Destination, str | None]:
    try:
        if body.mail is not None:
            mail = body.mail
            server = MailServer(
                mail.host, mail.port, mail.security, mail.username, mail.password.get_secret_value()
            )
            check_endpoint(server.endpoint, load_network_rules(session))
            row.destination = {
                "server": f"{mail.host}:{mail.port}",
                "to": list(mail.to),
                "security": mail.security,
            }
            return Destination(mail=server, sender=mail.sender, to=tuple(mail.to)), None
        assert body.url is not None
        url = body.url.get_secret_value().strip()
        endpoint = parse_url(url).endpoint
        check_endpoint(endpoint, load_network_rules(session))
    except OutgoingError as error:
        params: Any = error.sentence["params"]
        raise InvalidRequestError(f"outgoing.{error.kind}", **params) from None
    row.destination = {"server": endpoint.origin, "chart_link": body.kind == "slack" and body.chart_link}
    if body.kind == "slack":
        return Destination(url=url), None
    if body.kind == "grafana":
        assert body.secret is not None
        return Destination(url=url, secret=body.secret.get_secret_value()), None
    secret = body.secret.get_secret_value() if body.secret else f"culprit_hook_{random.token_urlsafe(32)}"
    return Destination(url=url, secret=secret), secret


def update_channel(session: Session, actor: Actor, channel_id: UUID, body: ChannelUpdate) -> Channel:
    """Change name, language or state. Raises NotFoundError, ConflictError."""
    authorize(actor, "channel.manage")
    row = _lock_channel(session, channel_id)
    changed = body.model_dump(exclude_unset=True, exclude_none=True)
    for name, value in changed.items():
        setattr(row, name, value)
    _require_unique_name(session, row)
    audit.record_action(
        session, actor, "channel.change", "channel", row.id, name=row.name, changed=sorted(changed)
    )
    return row


def delete_channel(session: Session, actor: Actor, channel_id: UUID) -> None:
    """Delete a channel with its notifications."""
    authorize(actor, "channel.manage")
    row = _lock_channel(session, channel_id)
    session.delete(row)
    audit.record_action(session, actor, "channel.remove", "channel", row.id, name=row.name)


def _lock_channel(session: Session, channel_id: UUID) -> Channel:
    row = queries.lock_channel(session, channel_id)
    if row is None:
        raise NotFoundError("channel.not_found")
    return row


def _require_unique_name(session: Session, row: Channel) -> None:
    try:
        with session.begin_nested():
            session.flush()
    except IntegrityError:
        raise ConflictError("channel.name_taken", name=row.name) from None


def send_test(session: Session, actor: Actor, channel_id: UUID) -> Notification:
    """Send a notification with example numbers immediately."""
    authorize(actor, "channel.manage")
    row = _lock_channel(session, channel_id)
    if row.kind == "grafana":
        raise ConflictError("channel.takes_no_messages", name=row.name)
    notice = Notification(channel_id=row.id, about="test", message=build_example().as_json())
    session.add(notice)
    session.flush()
    enqueue_after_commit(session, SEND_NOTIFICATION, notice.id)
    audit.record_action(
        session, actor, "channel.test", "channel", row.id, name=row.name, notice=str(notice.id)
    )
    return notice


def build_example() -> NotificationContent:
    """Return an example message that is about no host."""
    title = {"en": "Waiting for a CPU", "zh": "等待 CPU"}
    values = tuple(round(2 + (at % 7) * 0.4 + (38 if at > 24 else 0), 1) for at in range(48))
    return NotificationContent(
        outcome="test",
        host="example-1",
        service="example",
        cause={"en": "Too many threads for its CPUs", "zh": "线程数超过 CPU 数"},
        figures=(
            MessageNumber(title, 40.4, "ms", ">", 3.0, measure="example"),
            MessageNumber(
                {"en": "Runnable threads for each CPU", "zh": "每个 CPU 的可运行线程数"}, 31.0, "", ">", 2.0
            ),
            MessageNumber({"en": "CPUs busy", "zh": "CPU 使用率"}, 99.2, "pct", ">", 90.0),
        ),
        paths={"triggers": "/triggers"},
        chart=Chart(title, "ms", 40.4, 3.0, ">", tuple(float(at) for at in range(48)), values),
    )


def retry_notification(session: Session, actor: Actor, notification_id: UUID) -> Notification:
    """Retry a failed notification with all its attempts. Raises NotFoundError, ConflictError."""
    authorize(actor, "channel.manage")
    row = queries.find_notification(session, actor, notification_id, lock=True)
    if row is None:
        raise NotFoundError("notification.not_found")
    requeue_failed(session, row, SEND_NOTIFICATION)
    audit.record_action(session, actor, "notification.retry", "notification", row.id, number=row.number)
    return row


def requeue_failed(session: Session, row: Notification | GrafanaAnnotation, task: str) -> None:
    """Queue a failed item again with all its attempts. Raises ConflictError if it has not failed."""
    if row.state != "failed":
        raise ConflictError("notification.not_failed", state=row.state)
    row.state, row.attempts, row.failure, row.not_before = "queued", 0, None, utc_now()
    enqueue_after_commit(session, task, row.id)


def build_chart_token(notification_id: UUID) -> str:
    """Return the token of a chart link: the ID of the notification and a MAC of it."""
    return f"{notification_id.hex}{_compute_mac(notification_id)}"


def parse_chart_token(token: str) -> UUID | None:
    """Return the notification of a chart token, or None if the token is not valid."""
    if len(token) != 96 or not token.isascii() or not all(c in "0123456789abcdef" for c in token):
        return None
    notification_id = UUID(token[:32])
    return notification_id if hmac.compare_digest(token[32:], _compute_mac(notification_id)) else None


def _compute_mac(notification_id: UUID) -> str:
    """Return a MAC with the platform's key, for this purpose only."""
    config = get_settings()
    key = config.key_ring()[config.secret_key_version]
    return hmac.new(key, b"culprit:chart:" + notification_id.bytes, hashlib.sha256).hexdigest()


def build_channels(
    session: Session, rows: Sequence[Channel], secret: str | None = None
) -> list[ChannelResponse]:
    """Build the responses of channels."""
    ids = [row.id for row in rows]
    counts, newest = queries.count_by_state(session, ids), queries.load_latest_notifications(session, ids)
    same = ("id", "name", "kind", "locale", "enabled", "user_id", "destination", "created_at")
    results = []
    for row in rows:
        last = newest.get(row.id)
        results.append(
            ChannelResponse(
                **{name: getattr(row, name) for name in same},
                queued=counts.get(row.id, {}).get("queued", 0),
                failed=counts.get(row.id, {}).get("failed", 0),
                last_state=last.state if last else None,
                last_at=last.created_at if last else None,
                secret=secret,
            )
        )
    return results


def build_notifications(
    session: Session, actor: Actor, rows: Sequence[Notification]
) -> list[NotificationResponse]:
    """Build the responses of notifications in the reader's language."""
    names = queries.load_channel_names(session, {row.channel_id for row in rows})
    same = (
        "id", "number", "channel_id", "about", "state", "attempts", "not_before", "failure", "created_at", "sent_at",
    )  # fmt: skip
    return [
        NotificationResponse(
            **{name: getattr(row, name) for name in same},
            channel=names.get(row.channel_id, ""),
            message={
                **message_bodies.render_plain_text(row.message, actor.locale),
                "paths": row.message.get("paths", {}),
            },
        )
        for row in rows
    ]
