"""Create, change and delete rotations and overrides, and request fetches."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit, sealed_columns
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.domain.scheduling.cron import get_zone
from culprit.infra.db.clock import utc_now
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.notifications.oncall_override import OncallOverride
from culprit.infra.models.notifications.rotation import Rotation
from culprit.infra.network.http_client import HttpEndpoint, OutgoingError, check_endpoint, parse_base_url
from culprit.infra.task_queue import enqueue_after_commit
from culprit.infra.vault import get_vault
from culprit.notifications.oncall import calendar, pagerduty, queries, store
from culprit.notifications.oncall.external_shift import MAX_AHEAD, MAX_BEHIND, UnreadableCalendarError
from culprit.notifications.oncall.schemas import (
    CalendarSource,
    OverrideCreate,
    PagerDutySource,
    RotationCreate,
    RotationUpdate,
    Secret,
    SimpleSource,
)
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError, TooLargeError

# Fields that are not part of a request's digest: secrets could be guessed from it.
SECRETS = {"source": {"url", "token"}}
MAX_OVERRIDE = timedelta(days=90)


def create_rotation(session: Session, actor: Actor, rotation_create: RotationCreate) -> Rotation:
    """Create a rotation. Raises InvalidRequestError, ConflictError, ForbiddenError."""
    authorize(actor, "oncall.manage")
    if queries.find_rotation_id(session, rotation_create.name) is not None:
        raise ConflictError("oncall.name_taken", name=rotation_create.name)
    row = Rotation(
        id=new_uuid7(),
        name=rotation_create.name,
        created_by=actor.id,
        source={},
        days=7,
        handover="09:00",
        people=[],
    )
    _set_source(session, row, rotation_create.source)
    _set_accounts(session, row, rotation_create.accounts)
    session.add(row)
    session.flush()
    _enqueue_fetch(session, row)
    audit.record_action(session, actor, "oncall.created", "rotation", row.id, **_audit_details(row))
    return row


def update_rotation(
    session: Session, actor: Actor, rotation_id: UUID, rotation_update: RotationUpdate
) -> Rotation:
    """Change a rotation; its kind stays. Raises InvalidRequestError, ConflictError, NotFoundError, ForbiddenError."""
    authorize(actor, "oncall.manage")
    row = get_rotation(session, rotation_id, lock=True)
    if row.version != rotation_update.version:
        raise ConflictError("oncall.changed_meanwhile", name=row.name)
    if rotation_update.name is not None and rotation_update.name != row.name:
        if queries.find_rotation_id(session, rotation_update.name) is not None:
            raise ConflictError("oncall.name_taken", name=rotation_update.name)
        row.name = rotation_update.name
    if rotation_update.source is not None:
        if rotation_update.source.kind != row.kind:
            raise InvalidRequestError("oncall.kind_stays", kind=row.kind)
        _set_source(session, row, rotation_update.source)
        _enqueue_fetch(session, row)
    if rotation_update.accounts is not None:
        _set_accounts(session, row, rotation_update.accounts)
    row.version += 1
    session.flush()
    audit.record_action(session, actor, "oncall.changed", "rotation", row.id, **_audit_details(row))
    return row


def delete_rotation(session: Session, actor: Actor, rotation_id: UUID) -> None:
    """Delete a rotation with its shifts and its secret."""
    authorize(actor, "oncall.manage")
    row = get_rotation(session, rotation_id, lock=True)
    session.delete(row)
    session.flush()
    audit.record_action(session, actor, "oncall.removed", "rotation", rotation_id, name=row.name)


def get_rotation(session: Session, rotation_id: UUID, *, lock: bool = False) -> Rotation:
    """Return a rotation. Raises NotFoundError."""
    row = queries.find_rotation(session, rotation_id, lock=lock)
    if row is None:
        raise NotFoundError("oncall.not_found")
    return row


def request_fetch(session: Session, actor: Actor, rotation_id: UUID) -> Rotation:
    """Enqueue a fetch now. Raises ConflictError if the rotation has no address."""
    authorize(actor, "oncall.override")
    row = get_rotation(session, rotation_id, lock=True)
    if row.ciphertext is None:
        raise ConflictError("oncall.nothing_to_fetch", name=row.name)
    _enqueue_fetch(session, row)
    return row


def upload_calendar(  # noqa: PLR0917
    session: Session, actor: Actor, rotation_id: UUID, data: bytes, name: str, work: Path
) -> Rotation:
    """Store an uploaded iCalendar. Raises InvalidRequestError if it cannot be parsed."""
    authorize(actor, "oncall.manage")
    row = get_rotation(session, rotation_id, lock=True)
    if row.kind != "calendar" or row.ciphertext is not None:
        raise ConflictError("oncall.takes_no_file", name=row.name)
    if len(data) > calendar.MAX_BYTES:
        raise TooLargeError("oncall.file_too_large", limit_mb=calendar.MAX_BYTES >> 20)
    at = utc_now()
    try:
        shifts = calendar.parse_calendar(data, row.zone, at - MAX_BEHIND, at + MAX_AHEAD, work)
        store.replace_shifts(session, row, shifts, at)
    except UnreadableCalendarError as refused:
        params: Any = refused.sentence["params"]
        raise InvalidRequestError(str(refused.sentence["key"]), **params) from None
    row.calendar = data.decode("utf-8", "replace").replace("\0", "\ufffd")
    row.source = {"file": "".join(c for c in name if c.isprintable())[-120:], "bytes": len(data)}
    row.fetch_after = at + store.REREAD_EVERY
    session.flush()
    audit.record_action(
        session, actor, "oncall.calendar_brought", "rotation", row.id, name=row.name, shifts=len(shifts)
    )
    return row


def create_override(
    session: Session, actor: Actor, rotation_id: UUID, override_create: OverrideCreate
) -> Rotation:
    """Put a user on call instead of the rotation. Raises InvalidRequestError, NotFoundError, ForbiddenError."""
    authorize(actor, "oncall.override")
    row = get_rotation(session, rotation_id)
    _require_accounts(session, [override_create.user_id])
    if not override_create.starts_at < override_create.ends_at <= override_create.starts_at + MAX_OVERRIDE:
        raise InvalidRequestError("oncall.override_span", days=MAX_OVERRIDE.days)
    oncall_override = OncallOverride(
        rotation_id=row.id,
        user_id=override_create.user_id,
        starts_at=override_create.starts_at,
        ends_at=override_create.ends_at,
        reason=override_create.reason,
        created_by=actor.id,
    )
    session.add(oncall_override)
    session.flush()
    audit.record_action(
        session,
        actor,
        "oncall.overridden",
        "rotation",
        row.id,
        name=row.name,
        **_override_details(oncall_override),
    )
    return row


def delete_override(session: Session, actor: Actor, rotation_id: UUID, override_id: UUID) -> None:
    """Delete an override; the rotation applies again. Raises NotFoundError, ForbiddenError."""
    authorize(actor, "oncall.override")
    row = get_rotation(session, rotation_id)
    item = queries.lock_override(session, rotation_id, override_id)
    if item is None:
        raise NotFoundError("oncall.override_not_found")
    reported = _override_details(item)
    session.delete(item)
    session.flush()
    audit.record_action(
        session, actor, "oncall.override_removed", "rotation", row.id, name=row.name, **reported
    )


def _override_details(oncall_override: OncallOverride) -> dict[str, str]:
    return {
        "user_id": str(oncall_override.user_id),
        "from": oncall_override.starts_at.isoformat(),
        "until": oncall_override.ends_at.isoformat(),
        "reason": oncall_override.reason,
    }


def _set_source(
    session: Session, row: Rotation, source: SimpleSource | CalendarSource | PagerDutySource
) -> None:
    row.kind = source.kind
    if not isinstance(source, PagerDutySource):
        try:
            get_zone(source.zone)
        except ValueError:
            raise InvalidRequestError("schedule.no_such_zone", zone=source.zone) from None
        row.zone = source.zone
    if isinstance(source, SimpleSource):
        _require_accounts(session, source.people)
        row.people = [str(person) for person in source.people]
        row.first_day, row.days, row.handover = source.first_day, source.days, source.handover
    elif isinstance(source, CalendarSource):
        if source.url is not None:
            _set_calendar(session, row, source.url)
    else:
        _set_pagerduty(session, row, source)


def _set_calendar(session: Session, row: Rotation, url: Secret) -> None:
    try:
        address = calendar.parse_address(url.get_secret_value())
    except OutgoingError as error:
        raise InvalidRequestError(f"outgoing.{error.kind}") from None
    _require_allowed(session, address.endpoint)
    sealed_columns.seal_secret(row, url.get_secret_value(), get_vault())
    row.source, row.calendar = {"server": address.endpoint.origin}, None


def _set_pagerduty(session: Session, row: Rotation, source: PagerDutySource) -> None:
    try:
        endpoint = parse_base_url(source.url)
    except OutgoingError as error:
        raise InvalidRequestError(f"outgoing.{error.kind}") from None
    _require_allowed(session, endpoint)
    # A token is valid for its server only, and is never sent to another one.
    if source.token is not None:
        sealed_columns.seal_secret(row, source.token.get_secret_value(), get_vault())
    elif row.source.get("server") != endpoint.origin:
        raise InvalidRequestError("oncall.needs_token")
    row.source = {
        "server": endpoint.origin,
        "url": source.url,
        "schedules": list(source.schedules),
        "policies": list(source.policies),
    }


def _require_allowed(session: Session, endpoint: HttpEndpoint) -> None:
    try:
        check_endpoint(endpoint, load_network_rules(session))
    except OutgoingError as error:
        params: Any = error.sentence["params"]
        raise InvalidRequestError(f"outgoing.{error.kind}", **params) from None


def _set_accounts(session: Session, row: Rotation, accounts: dict[str, UUID]) -> None:
    _require_accounts(session, accounts.values())
    row.accounts = {name: str(item) for name, item in accounts.items()}


def _require_accounts(session: Session, ids: Iterable[UUID]) -> None:
    requested_ids = set(ids)
    if len(queries.list_accounts(session, requested_ids)) != len(requested_ids):
        raise InvalidRequestError("oncall.no_such_account")


def _enqueue_fetch(session: Session, row: Rotation) -> None:
    if row.ciphertext is not None:
        row.fetch_after = utc_now()
        enqueue_after_commit(session, "culprit.fetch_oncall", row.id)


def build_fetch_request(
    session: Session, row: Rotation
) -> calendar.CalendarRequest | pagerduty.PagerDutyRequest | None:
    """Return the fetch request of a rotation, or None. Raises SecretUnreadableError, OutgoingError."""
    secret = sealed_columns.open_secret(row, get_vault())
    if secret is None:
        return None
    if row.kind == "calendar":
        return calendar.CalendarRequest(calendar.parse_address(secret), load_network_rules(session))
    source = row.source
    return pagerduty.PagerDutyRequest(
        source["url"], secret, source["schedules"], source["policies"], load_network_rules(session)
    )


def _audit_details(row: Rotation) -> dict[str, Any]:
    """Return a rotation as recorded in the audit log."""
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
