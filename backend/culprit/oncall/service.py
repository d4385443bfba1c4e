"""Decisions about who is on call: rotations, what overrides them, and where they may be fetched from."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth import audit, sealed
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.cron import zone_of
from culprit.infra.broker import announce
from culprit.infra.outgoing import OutgoingError, Place, check, place_of
from culprit.infra.secrets import vault
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound, TooLarge
from culprit.kit.uuid7 import uuid7
from culprit.models import OncallOverride, Rotation
from culprit.oncall import calendar, pagerduty, queries, store
from culprit.oncall.found import AHEAD, BEHIND, Unreadable
from culprit.oncall.schemas import (
    CalendarFrom,
    OverrideCreate,
    PagerDuty,
    RotationCreate,
    RotationUpdate,
    Secret,
    Simple,
)

# Fields that a request's digest is made without: a digest of a secret is a way to guess it.
SECRETS = {"origin": {"url", "token"}}
LONGEST_OVERRIDE = timedelta(days=90)


def create(session: Session, actor: Actor, wanted: RotationCreate) -> Rotation:
    """A new rotation. Raises Invalid, Conflict, Forbidden."""
    policy(actor, "oncall.manage")
    if queries.named(session, wanted.name) is not None:
        raise Conflict("oncall.name_taken", name=wanted.name)
    row = Rotation(
        id=uuid7(), name=wanted.name, created_by=actor.id, source={}, days=7, handover="09:00", people=[]
    )
    _set_origin(session, row, wanted.origin)
    _set_accounts(session, row, wanted.accounts)
    session.add(row)
    session.flush()
    _fetch_soon(session, row)
    audit.record(session, actor, "oncall.created", "rotation", row.id, **_told(row))
    return row


def update(session: Session, actor: Actor, rotation_id: UUID, wanted: RotationUpdate) -> Rotation:
    """Change a rotation; its kind stays. Raises Invalid, Conflict, NotFound, Forbidden."""
    policy(actor, "oncall.manage")
    row = found(session, rotation_id, lock=True)
    if row.version != wanted.version:
        raise Conflict("oncall.changed_meanwhile", name=row.name)
    if wanted.name is not None and wanted.name != row.name:
        if queries.named(session, wanted.name) is not None:
            raise Conflict("oncall.name_taken", name=wanted.name)
        row.name = wanted.name
    if wanted.origin is not None:
        if wanted.origin.kind != row.kind:
            raise Invalid("oncall.kind_stays", kind=row.kind)
        _set_origin(session, row, wanted.origin)
        _fetch_soon(session, row)
    if wanted.accounts is not None:
        _set_accounts(session, row, wanted.accounts)
    row.version += 1
    session.flush()
    audit.record(session, actor, "oncall.changed", "rotation", row.id, **_told(row))
    return row


def remove(session: Session, actor: Actor, rotation_id: UUID) -> None:
    """Forget a rotation with its turns and its secret."""
    policy(actor, "oncall.manage")
    row = found(session, rotation_id, lock=True)
    session.delete(row)
    session.flush()
    audit.record(session, actor, "oncall.removed", "rotation", rotation_id, name=row.name)


def found(session: Session, rotation_id: UUID, *, lock: bool = False) -> Rotation:
    """One rotation. Raises NotFound."""
    row = queries.rotation(session, rotation_id, lock=lock)
    if row is None:
        raise NotFound("oncall.not_found")
    return row


def fetch_now(session: Session, actor: Actor, rotation_id: UUID) -> Rotation:
    """Have it fetched again without waiting. Raises Conflict where there is nothing to fetch."""
    policy(actor, "oncall.override")
    row = found(session, rotation_id, lock=True)
    if row.ciphertext is None:
        raise Conflict("oncall.nothing_to_fetch", name=row.name)
    _fetch_soon(session, row)
    return row


def bring(  # noqa: PLR0917
    session: Session, actor: Actor, rotation_id: UUID, data: bytes, name: str, work: Path
) -> Rotation:
    """Take an iCalendar that somebody uploaded. Raises Invalid where it cannot be read."""
    policy(actor, "oncall.manage")
    row = found(session, rotation_id, lock=True)
    if row.kind != "calendar" or row.ciphertext is not None:
        raise Conflict("oncall.takes_no_file", name=row.name)
    if len(data) > calendar.MAX_BYTES:
        raise TooLarge("oncall.file_too_large", limit_mb=calendar.MAX_BYTES >> 20)
    at = now()
    try:
        turns = calendar.read(data, row.zone, at - BEHIND, at + AHEAD, work)
        store.replace(session, row, turns, at)
    except Unreadable as refused:
        params: Any = refused.sentence["params"]
        raise Invalid(str(refused.sentence["key"]), **params) from None
    row.calendar = data.decode("utf-8", "replace").replace("\0", "\ufffd")
    row.source = {"file": "".join(c for c in name if c.isprintable())[-120:], "bytes": len(data)}
    row.fetch_after = at + store.READ_AGAIN
    session.flush()
    audit.record(
        session, actor, "oncall.calendar_brought", "rotation", row.id, name=row.name, turns=len(turns)
    )
    return row


def take_over(session: Session, actor: Actor, rotation_id: UUID, wanted: OverrideCreate) -> Rotation:
    """Somebody is on call in place of whoever the rotation names. Raises Invalid, NotFound, Forbidden."""
    policy(actor, "oncall.override")
    row = found(session, rotation_id)
    _known(session, [wanted.user_id])
    if not wanted.starts_at < wanted.ends_at <= wanted.starts_at + LONGEST_OVERRIDE:
        raise Invalid("oncall.override_span", days=LONGEST_OVERRIDE.days)
    one = OncallOverride(
        rotation_id=row.id,
        user_id=wanted.user_id,
        starts_at=wanted.starts_at,
        ends_at=wanted.ends_at,
        reason=wanted.reason,
        created_by=actor.id,
    )
    session.add(one)
    session.flush()
    audit.record(session, actor, "oncall.overridden", "rotation", row.id, name=row.name, **_span(one))
    return row


def give_back(session: Session, actor: Actor, rotation_id: UUID, override_id: UUID) -> None:
    """The rotation holds again. Raises NotFound, Forbidden."""
    policy(actor, "oncall.override")
    row = found(session, rotation_id)
    one = queries.override(session, rotation_id, override_id)
    if one is None:
        raise NotFound("oncall.override_not_found")
    told = _span(one)
    session.delete(one)
    session.flush()
    audit.record(session, actor, "oncall.override_removed", "rotation", row.id, name=row.name, **told)


def _span(one: OncallOverride) -> dict[str, str]:
    return {
        "user_id": str(one.user_id),
        "from": one.starts_at.isoformat(),
        "until": one.ends_at.isoformat(),
        "reason": one.reason,
    }


def _set_origin(session: Session, row: Rotation, origin: Simple | CalendarFrom | PagerDuty) -> None:
    row.kind = origin.kind
    if not isinstance(origin, PagerDuty):
        try:
            zone_of(origin.zone)
        except ValueError:
            raise Invalid("schedule.no_such_zone", zone=origin.zone) from None
        row.zone = origin.zone
    if isinstance(origin, Simple):
        _known(session, origin.people)
        row.people = [str(one) for one in origin.people]
        row.first_day, row.days, row.handover = origin.first_day, origin.days, origin.handover
    elif isinstance(origin, CalendarFrom):
        if origin.url is not None:
            _set_calendar(session, row, origin.url)
    else:
        _set_pagerduty(session, row, origin)


def _set_calendar(session: Session, row: Rotation, url: Secret) -> None:
    try:
        address = calendar.address_of(url.get_secret_value())
    except OutgoingError as error:
        raise Invalid(f"outgoing.{error.kind}") from None
    _may_dial(session, address.place)
    sealed.seal(row, url.get_secret_value(), vault())
    row.source, row.calendar = {"server": address.place.shown}, None


def _set_pagerduty(session: Session, row: Rotation, origin: PagerDuty) -> None:
    try:
        place = place_of(origin.url)
    except OutgoingError as error:
        raise Invalid(f"outgoing.{error.kind}") from None
    _may_dial(session, place)
    # A token is for the server that it was given for: it is never sent to another one.
    if origin.token is not None:
        sealed.seal(row, origin.token.get_secret_value(), vault())
    elif row.source.get("server") != place.shown:
        raise Invalid("oncall.needs_token")
    row.source = {
        "server": place.shown,
        "url": origin.url,
        "schedules": list(origin.schedules),
        "policies": list(origin.policies),
    }


def _may_dial(session: Session, place: Place) -> None:
    try:
        check(place, queries.rules(session))
    except OutgoingError as error:
        params: Any = error.sentence["params"]
        raise Invalid(f"outgoing.{error.kind}", **params) from None


def _set_accounts(session: Session, row: Rotation, accounts: dict[str, UUID]) -> None:
    _known(session, accounts.values())
    row.accounts = {name: str(one) for name, one in accounts.items()}


def _known(session: Session, ids: Iterable[UUID]) -> None:
    wanted = set(ids)
    if len(queries.accounts(session, wanted)) != len(wanted):
        raise Invalid("oncall.no_such_account")


def _fetch_soon(session: Session, row: Rotation) -> None:
    if row.ciphertext is not None:
        row.fetch_after = now()
        announce(session, "culprit.fetch_oncall", row.id)


def asked_of(session: Session, row: Rotation) -> calendar.Asked | pagerduty.Asked | None:
    """What is to be fetched for a rotation; None where nothing is. Raises SecretUnreadable, OutgoingError."""
    kept = sealed.opened(row, vault())
    if kept is None:
        return None
    if row.kind == "calendar":
        return calendar.Asked(calendar.address_of(kept), queries.rules(session))
    source = row.source
    return pagerduty.Asked(
        source["url"], kept, source["schedules"], source["policies"], queries.rules(session)
    )


def _told(row: Rotation) -> dict[str, Any]:
    """A rotation as the audit log keeps it."""
    return {
        "name": row.name,
        "kind": row.kind,
        "zone": row.zone,
        "handover": row.handover,
        "first_day": row.first_day.isoformat() if row.first_day else None,
        "days": row.days,
        "people": row.people,
        "source": row.source,
    }
