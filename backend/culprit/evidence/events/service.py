"""Report, update and withdraw events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, insert
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.text.sanitize import sanitize_line, sanitize_lines
from culprit.evidence.events import queries, responses
from culprit.evidence.events.schemas import (
    MAX_DETAIL,
    MAX_WHAT,
    MAX_WHO,
    ReportedEventCreate,
    ReportedEventTarget,
    ReportedEventUpdate,
)
from culprit.infra.db.clock import to_ns, utc_now
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.evidence.reported_event_host import ReportedEventHost
from culprit.web.errors import ConflictError, ForbiddenError, InvalidRequestError, NotFoundError

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
#: Limit for planned events: a later time or a longer duration is treated as a typing error.
YEAR = timedelta(days=366)
_TEXT_FIELDS = {
    "what": (sanitize_line, MAX_WHAT),
    "who": (sanitize_line, MAX_WHO),
    "detail": (sanitize_lines, MAX_DETAIL),
}


def report_event(session: Session, actor: Actor, body: ReportedEventCreate) -> tuple[ReportedEvent, bool]:
    """Store an event, or update the one with the same external ID.

    Returns:
        The event, and whether it is new.

    Raises:
        NotFoundError: a host or service does not exist for this actor.
        ForbiddenError: the event applies to hosts that this actor cannot see.
        InvalidRequestError: the text, the time or the selection of hosts is not valid.
        ConflictError: the event with this external ID is withdrawn.
    """
    authorize(actor, "event.report")
    if body.external_id is not None:
        existing = queries.find_by_external_id(session, actor, body.external_id)
        if existing is not None:
            return _update_known(session, actor, existing, body), False
    target, hosts = _resolve_target(session, actor, body)
    row = ReportedEvent(id=new_uuid7(), reported_by=actor.id, external_id=body.external_id, target=target)
    row.everywhere = target["kind"] == "everywhere"
    row.kind, row.link = body.kind, body.link
    for name, (sanitize, limit) in _TEXT_FIELDS.items():
        setattr(row, name, sanitize(getattr(body, name), limit))
    row.t_ns = to_ns(_require_plausible(body.at or utc_now()))
    row.end_ns = to_ns(_require_plausible(body.until)) if body.until else None
    _validate_event(row)
    if not _insert_event(session, row):
        assert body.external_id is not None
        raced = queries.find_by_external_id(session, actor, body.external_id)
        assert raced is not None
        return _update_known(session, actor, raced, body), False
    _add_hosts(session, row.id, hosts)
    stored = session.get_one(ReportedEvent, row.id)
    audit.record_action(
        session, actor, "event.reported", "event", row.id, **_to_audit(stored), hosts=len(hosts)
    )
    return stored, True


def _insert_event(session: Session, row: ReportedEvent) -> bool:
    """Insert an event; return False if a concurrent request stored its external ID first."""
    values = {
        column.key: getattr(row, column.key)
        for column in ReportedEvent.__table__.columns
        if getattr(row, column.key) is not None
    }
    query = upsert(ReportedEvent).values(**values, created_at=utc_now()).on_conflict_do_nothing()
    return session.execute(query.returning(ReportedEvent.id)).scalar() is not None


def _update_known(
    session: Session, actor: Actor, row: ReportedEvent, body: ReportedEventCreate
) -> ReportedEvent:
    """Update the event with the same external ID; a withdrawn event stays withdrawn."""
    if row.withdrawn_at is not None:
        raise ConflictError("reported_event.withdrawn")
    _require_visible_hosts(session, actor, row)
    supplied = body.model_dump(exclude_unset=True, exclude={"external_id"})
    _update_fields(session, actor, row, supplied, body)
    return row


def update_event(
    session: Session, actor: Actor, reported_event_id: UUID, body: ReportedEventUpdate
) -> ReportedEvent:
    """Change an event. Raises NotFoundError, ForbiddenError, InvalidRequestError, ConflictError."""
    row = _get_own_event(session, actor, reported_event_id)
    supplied = body.model_dump(exclude_unset=True)
    supplied = {
        name: value for name, value in supplied.items() if value is not None or name in {"until", "link"}
    }
    _update_fields(session, actor, row, supplied, body)
    return row


def withdraw_event(session: Session, actor: Actor, reported_event_id: UUID) -> None:
    """Remove an event from every timeline; it stays in the list and in the audit log."""
    row = _get_own_event(session, actor, reported_event_id)
    row.withdrawn_at, row.withdrawn_by = utc_now(), actor.id
    audit.record_action(session, actor, "event.withdrawn", "event", row.id, **_to_audit(row))


def _get_own_event(session: Session, actor: Actor, reported_event_id: UUID) -> ReportedEvent:
    """Return the locked event, or raise if this actor cannot change it."""
    row = queries.find_event(session, actor, reported_event_id, lock=True)
    if row is None:
        authorize(actor, "event.report")
        raise NotFoundError("reported_event.not_found")
    authorize(actor, "event.report" if row.reported_by == actor.id else "event.manage")
    _require_visible_hosts(session, actor, row)
    if row.withdrawn_at is not None:
        raise ConflictError("reported_event.withdrawn")
    return row


def _require_visible_hosts(session: Session, actor: Actor, row: ReportedEvent) -> None:
    if queries.has_hidden_hosts(session, actor, row):
        raise ForbiddenError("reported_event.hosts_hidden")


def _update_fields(
    session: Session, actor: Actor, row: ReportedEvent, supplied: dict[str, Any], target: ReportedEventTarget
) -> None:
    """Set the fields that differ, and record the change in the audit log."""
    before = _to_audit(row)
    for name, (sanitize, limit) in _TEXT_FIELDS.items():
        if supplied.get(name) is not None:
            setattr(row, name, sanitize(supplied[name], limit))
    if supplied.get("kind"):
        row.kind = supplied["kind"]
    if "link" in supplied:
        row.link = supplied["link"]
    if supplied.get("at"):
        row.t_ns = to_ns(_require_plausible(supplied["at"]))
    if "until" in supplied:
        row.end_ns = to_ns(_require_plausible(supplied["until"])) if supplied["until"] else None
    _validate_event(row)
    if any(supplied.get(name) for name in ReportedEventTarget.model_fields):
        row.target, hosts = _resolve_target(session, actor, target)
        row.everywhere = row.target["kind"] == "everywhere"
        session.execute(delete(ReportedEventHost).where(ReportedEventHost.reported_event_id == row.id))
        _add_hosts(session, row.id, hosts)
    after = _to_audit(row)
    changed: dict[str, Any] = {
        name: [before[name], after[name]] for name in after if after[name] != before[name]
    }
    if changed:
        row.changed_at = utc_now()
        audit.record_action(session, actor, "event.updated", "event", row.id, **changed)


def _resolve_target(
    session: Session, actor: Actor, body: ReportedEventTarget
) -> tuple[dict[str, Any], list[UUID]]:
    """Return how the hosts are selected, and their IDs. Raise if a host does not exist for this actor."""
    selections = [name for name in ReportedEventTarget.model_fields if getattr(body, name)]
    if len(selections) != 1:
        raise InvalidRequestError("reported_event.one_target")
    if body.everywhere:
        if not actor.unrestricted:
            raise ForbiddenError("reported_event.everywhere_out_of_scope")
        return {"kind": "everywhere"}, []
    if body.hosts:
        hosts_by_name = queries.find_named_hosts(session, actor, body.hosts)
        missing = [name for name in body.hosts if name not in hosts_by_name]
        if missing:
            raise NotFoundError("reported_event.no_such_host", host=sanitize_line(missing[0], 120))
        return {"kind": "hosts"}, sorted({item for ids in hosts_by_name.values() for item in ids})
    labels, target = body.labels, {"kind": "labels", "labels": body.labels}
    if body.service:
        labels = queries.find_service_labels(session, body.service)
        if labels is None:
            raise NotFoundError("reported_event.no_such_service", service=body.service)
        target = {"kind": "service", "service": body.service, "labels": labels}
    hosts = queries.list_labeled_hosts(session, actor, labels or {})
    if not hosts:
        label_text = ", ".join(f"{name}={value}" for name, value in (labels or {}).items())
        raise InvalidRequestError("reported_event.no_hosts", labels=label_text)
    return target, hosts


def _add_hosts(session: Session, reported_event_id: UUID, hosts: list[UUID]) -> None:
    if hosts:
        rows = [{"reported_event_id": reported_event_id, "host_id": host_id} for host_id in hosts]
        session.execute(insert(ReportedEventHost), rows)


def _require_plausible(at: datetime) -> datetime:
    if not EARLIEST <= at <= utc_now() + YEAR:
        raise InvalidRequestError("reported_event.time", at=at.isoformat(timespec="seconds"))
    return at


def _validate_event(row: ReportedEvent) -> None:
    """Raise InvalidRequestError if the text is empty or the end is not after the start."""
    if not row.what:
        raise InvalidRequestError("reported_event.no_text")
    if (
        row.end_ns is not None
        and not row.t_ns < row.end_ns <= row.t_ns + YEAR // timedelta(microseconds=1) * 1000
    ):
        raise InvalidRequestError("reported_event.span", days=YEAR.days)


def _to_audit(row: ReportedEvent) -> dict[str, Any]:
    """Return the fields for the audit log."""
    return {
        "kind": row.kind,
        "what": row.what,
        "who": row.who,
        "detail": row.detail[:200],
        "link": row.link,
        "from": responses.to_datetime(row.t_ns).isoformat(),
        "until": responses.to_datetime(row.end_ns).isoformat() if row.end_ns is not None else None,
        "target": row.target,
    }
