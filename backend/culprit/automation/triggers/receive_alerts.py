"""Receive alerts: authenticate the request, ignore repeated ones, parse it, and respond to each alert.

Several API processes behave as one: a unique key decides which request is new, and a PostgreSQL lock
serializes decisions about alerts, so that 1,000 alerts start one capture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import func, or_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from collectors.contract import Sentence
from culprit.accounts.tokens import hash_token
from culprit.automation.triggers import secrets, start_response
from culprit.automation.triggers.schemas import AlertDeliveryResponse, TriggerOptions
from culprit.domain.alerts.contract import AlertPayload, IncomingAlert, Kind, UnreadablePayload
from culprit.domain.alerts.formats import parse_request
from culprit.domain.alerts.proof import OUR_TIME, check_signature
from culprit.infra.db.advisory_locks import lock_transaction
from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.automation.trigger_delivery import TriggerDelivery
from culprit.infra.vault import SecretUnreadableError, get_vault
from culprit.web.errors import InvalidRequestError, UnauthenticatedError

MAX_BODY = 512 << 10
LOCK = 0x414C5254  # serializes decisions about alerts
REJECTION_INTERVAL = timedelta(seconds=1)


class AlertRejectedError(Exception):
    """A rejected request. The reason is shown to the trigger's owner and not to the sender."""

    def __init__(self, trigger_id: UUID | None, reason: Sentence) -> None:
        super().__init__(reason.key)
        self.trigger_id = trigger_id
        self.reason = reason


def receive_request(
    session: Session, trigger_id: UUID, headers: Mapping[str, str], body: bytes, at: datetime
) -> AlertDeliveryResponse:
    """Process a request. Raises AlertRejectedError, or InvalidRequestError if it cannot be parsed.

    `headers` have lower-case names; `at` is now.
    """
    trigger = session.get(Trigger, trigger_id)
    if trigger is None:
        raise AlertRejectedError(None, Sentence("trigger.not_found"))
    if not trigger.enabled:
        raise AlertRejectedError(trigger.id, Sentence("trigger.disabled"))
    options = TriggerOptions.model_validate(trigger.options)
    window = timedelta(seconds=options.window_s)
    proof = _authenticate(trigger, headers, body, at, window)
    kind: Kind = trigger.kind  # type: ignore[assignment]
    request = parse_request(kind, body)
    if isinstance(request, UnreadablePayload):
        raise InvalidRequestError(request.reason.key, errors=(), **request.reason.params)
    if request.sent_at is not None and abs(at - request.sent_at) > window:
        raise AlertRejectedError(trigger.id, Sentence("trigger.out_of_time", {"window_s": options.window_s}))
    if not _is_new_request(session, trigger, proof, body, at + 2 * window):
        _count_delivery(session, trigger, at, duplicate_count=1)
        return AlertDeliveryResponse(duplicate=True)
    lock_transaction(session, LOCK)
    received = _process_alerts(session, trigger, request, at)
    _count_delivery(session, trigger, at, alert_count=1)
    return received


def _authenticate(
    trigger: Trigger, headers: Mapping[str, str], body: bytes, at: datetime, window: timedelta
) -> bytes:
    """Return the signed time, which distinguishes requests with equal bodies. Raises AlertRejectedError."""
    if trigger.proof == "token":
        scheme, _, token = headers.get("authorization", "").partition(" ")
        # The comparison of two hashes takes a time that reveals nothing about the token.
        if scheme.lower() != "bearer" or hash_token(token.strip()) != trigger.token_hash:
            raise AlertRejectedError(trigger.id, Sentence("trigger.wrong_token"))
        header = headers.get(OUR_TIME, "")
        at_s = int(header) if header.isascii() and header.isdigit() and len(header) < 14 else None
    else:
        try:
            secret = secrets.open_secret(trigger, get_vault())
        except SecretUnreadableError:
            raise AlertRejectedError(trigger.id, Sentence("trigger.secret_unreadable")) from None
        kind: Kind = trigger.kind  # type: ignore[assignment]
        signature = check_signature(kind, secret, headers, body)
        if isinstance(signature, Sentence):
            raise AlertRejectedError(trigger.id, signature)
        at_s = signature.at_s
    if at_s is not None and abs(at.timestamp() - at_s) > window.total_seconds():
        reason = Sentence("trigger.out_of_time", {"window_s": int(window.total_seconds())})
        raise AlertRejectedError(trigger.id, reason)
    return str(at_s or "").encode()


def _is_new_request(session: Session, trigger: Trigger, proof: bytes, body: bytes, until: datetime) -> bool:
    """Return whether this request is new; of two simultaneous ones, the second waits for the first."""
    digest = hashlib.sha256(proof + b"\0" + body).digest()
    row = insert(TriggerDelivery).values(trigger_id=trigger.id, digest=digest, until=until)
    keys = [TriggerDelivery.trigger_id, TriggerDelivery.digest]
    # A sender with a token may repeat a request after the record of the first was deleted.
    now = func.clock_timestamp()
    taken = row.on_conflict_do_update(
        index_elements=keys, set_={"until": until}, where=TriggerDelivery.until < now
    ).returning(TriggerDelivery.digest)
    return session.scalar(taken) is not None


def _process_alerts(
    session: Session, trigger: Trigger, alert_payload: AlertPayload, at: datetime
) -> AlertDeliveryResponse:
    received = AlertDeliveryResponse(left_out=alert_payload.left_out, alerts=len(alert_payload.alerts))
    for alert in alert_payload.alerts:
        if alert.firing:
            state = start_response.respond_to_alert(session, trigger, alert, at)
            setattr(received, state, getattr(received, state) + 1)
        else:
            received.resolved += _resolve_alert(session, trigger, alert, at)
    return received


def _resolve_alert(session: Session, trigger: Trigger, alert: IncomingAlert, at: datetime) -> bool:
    """Record that the sender reports the end of an alert."""
    changed = session.execute(
        update(Alert)
        .where(
            Alert.trigger_id == trigger.id,
            Alert.fingerprint == alert.fingerprint,
            Alert.resolved_at.is_(None),
        )
        .values(resolved_at=at)
        .returning(Alert.id)
        .execution_options(synchronize_session=False)
    ).first()
    return changed is not None


def _count_delivery(
    session: Session, trigger: Trigger, at: datetime, *, alert_count: int = 0, duplicate_count: int = 0
) -> None:
    session.execute(
        update(Trigger)
        .where(Trigger.id == trigger.id)
        .values(
            alert_count=Trigger.alert_count + alert_count,
            duplicate_count=Trigger.duplicate_count + duplicate_count,
            last_alert_at=at,
        )
        .execution_options(synchronize_session=False)
    )


def record_rejection(session: Session, rejected: AlertRejectedError, at: datetime) -> None:
    """Store the last rejected request and its reason for the owner, at most once a second."""
    reason = {"key": rejected.reason.key, "params": dict(rejected.reason.params)}
    session.execute(
        update(Trigger)
        .where(
            Trigger.id == rejected.trigger_id,
            or_(Trigger.rejected_at.is_(None), Trigger.rejected_at < at - REJECTION_INTERVAL),
        )
        .values(rejected_at=at, rejection_reason=reason)
        .execution_options(synchronize_session=False)
    )


def build_unauthenticated() -> UnauthenticatedError:
    """Return the same error for every failed authentication, for any reason."""
    return UnauthenticatedError("trigger.refused")


def get_now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)
