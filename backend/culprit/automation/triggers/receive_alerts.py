"""A request from outside: is it from there, is it new, what does it say, and what becomes of each alert.

Several API processes behave as one: which request is new is decided by a unique key, and alerts are decided one after
another under a lock of PostgreSQL, so that a thousand of them start one capture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from collectors.contract import Sentence
from culprit.auth.tokens import token_hash
from culprit.core.alerts.contract import Incoming, Kind, Payload, Unreadable
from culprit.core.alerts.formats import read
from culprit.core.alerts.proof import OUR_TIME, proven
from culprit.infra.secrets import SecretUnreadable, vault
from culprit.kit.errors import Invalid, Unauthenticated
from culprit.models import Alert, Trigger, TriggerDelivery
from culprit.triggers import fire, secrets
from culprit.triggers.schemas import Options, Received

MAX_BODY = 512 << 10
LOCK = 0x414C5254  # alerts are decided one after another
SHOWN_REFUSAL = timedelta(seconds=1)


class Rejected(Exception):
    """A request that a trigger does not take. Its sender is not told more than that; the trigger's owner is."""

    def __init__(self, trigger_id: UUID | None, reason: Sentence) -> None:
        super().__init__(reason.key)
        self.trigger_id = trigger_id
        self.reason = reason


def receive(
    session: Session, trigger_id: UUID, headers: Mapping[str, str], body: bytes, at: datetime
) -> Received:
    """Takes one request. Raises Rejected, or Invalid for one that is proven and cannot be read.

    `headers` by name in lower case; `at` is now.
    """
    trigger = session.get(Trigger, trigger_id)
    if trigger is None:
        raise Rejected(None, Sentence("trigger.not_found"))
    if not trigger.enabled:
        raise Rejected(trigger.id, Sentence("trigger.disabled"))
    options = Options.model_validate(trigger.options)
    window = timedelta(seconds=options.window_s)
    proof = _proof(trigger, headers, body, at, window)
    kind: Kind = trigger.kind  # type: ignore[assignment]
    found = read(kind, body)
    if isinstance(found, Unreadable):
        raise Invalid(found.reason.key, errors=(), **found.reason.params)
    if found.sent_at is not None and abs(at - found.sent_at) > window:
        raise Rejected(trigger.id, Sentence("trigger.out_of_time", {"window_s": options.window_s}))
    if not _new(session, trigger, proof, body, at + 2 * window):
        _heard(session, trigger, at, repeated=1)
        return Received(duplicate=True)
    session.execute(select(func.pg_advisory_xact_lock(LOCK)))
    received = _each(session, trigger, found, at)
    _heard(session, trigger, at, heard=1)
    return received


def _proof(
    trigger: Trigger, headers: Mapping[str, str], body: bytes, at: datetime, window: timedelta
) -> bytes:
    """What makes this request another than one with the same body: the signed time. Raises Rejected."""
    if trigger.proof == "token":
        scheme, _, token = headers.get("authorization", "").partition(" ")
        # Two hashes are compared: how long that takes tells nothing about the token.
        if scheme.lower() != "bearer" or token_hash(token.strip()) != trigger.token_hash:
            raise Rejected(trigger.id, Sentence("trigger.wrong_token"))
        told = headers.get(OUR_TIME, "")
        at_s = int(told) if told.isascii() and told.isdigit() and len(told) < 14 else None
    else:
        try:
            secret = secrets.opened(trigger, vault())
        except SecretUnreadable:
            raise Rejected(trigger.id, Sentence("trigger.secret_unreadable")) from None
        kind: Kind = trigger.kind  # type: ignore[assignment]
        found = proven(kind, secret, headers, body)
        if isinstance(found, Sentence):
            raise Rejected(trigger.id, found)
        at_s = found.at_s
    if at_s is not None and abs(at.timestamp() - at_s) > window.total_seconds():
        reason = Sentence("trigger.out_of_time", {"window_s": int(window.total_seconds())})
        raise Rejected(trigger.id, reason)
    return str(at_s or "").encode()


def _new(session: Session, trigger: Trigger, proof: bytes, body: bytes, until: datetime) -> bool:
    """Whether this request was not taken before; of two at once the second waits for the first."""
    digest = hashlib.sha256(proof + b"\0" + body).digest()
    row = insert(TriggerDelivery).values(trigger_id=trigger.id, digest=digest, until=until)
    keys = [TriggerDelivery.trigger_id, TriggerDelivery.digest]
    # With a token a sender may well repeat itself after a while: what was forgotten by then is new again.
    now = func.clock_timestamp()
    taken = row.on_conflict_do_update(
        index_elements=keys, set_={"until": until}, where=TriggerDelivery.until < now
    ).returning(TriggerDelivery.digest)
    return session.scalar(taken) is not None


def _each(session: Session, trigger: Trigger, found: Payload, at: datetime) -> Received:
    received = Received(left_out=found.left_out, alerts=len(found.alerts))
    for alert in found.alerts:
        if alert.firing:
            state = fire.take(session, trigger, alert, at)
            setattr(received, state, getattr(received, state) + 1)
        else:
            received.resolved += _over(session, trigger, alert, at)
    return received


def _over(session: Session, trigger: Trigger, alert: Incoming, at: datetime) -> bool:
    """Its sender says that it is over."""
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


def _heard(session: Session, trigger: Trigger, at: datetime, *, heard: int = 0, repeated: int = 0) -> None:
    session.execute(
        update(Trigger)
        .where(Trigger.id == trigger.id)
        .values(heard=Trigger.heard + heard, repeated=Trigger.repeated + repeated, heard_at=at)
        .execution_options(synchronize_session=False)
    )


def note_refusal(session: Session, rejected: Rejected, at: datetime) -> None:
    """For the owner: the last request that was turned away, and why. Written at most once a second."""
    reason = {"key": rejected.reason.key, "params": dict(rejected.reason.params)}
    session.execute(
        update(Trigger)
        .where(
            Trigger.id == rejected.trigger_id,
            or_(Trigger.refused_at.is_(None), Trigger.refused_at < at - SHOWN_REFUSAL),
        )
        .values(refused_at=at, refused_for=reason)
        .execution_options(synchronize_session=False)
    )


def turned_away() -> Unauthenticated:
    """The one answer to everything that is not proven, whatever was wrong with it."""
    return Unauthenticated("trigger.refused")


def now() -> datetime:
    """This moment."""
    return datetime.now(UTC)
