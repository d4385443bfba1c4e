"""Decisions about events that are told: where they belong, what becomes of a second telling, who may take back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, insert
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from culprit.annotations import queries, read
from culprit.annotations.schemas import DETAIL, WHAT, WHO, EventCorrect, EventPlace, EventTell
from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.told_text import line, lines
from culprit.kit.clock import now, to_ns
from culprit.kit.errors import Conflict, Forbidden, Invalid, NotFound
from culprit.kit.uuid7 import uuid7
from culprit.models import Annotation, AnnotationHost

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
#: What is planned may be told beforehand; what lies further ahead, or takes longer, is a slip of the pen.
YEAR = timedelta(days=366)
_WORDS = {"what": (line, WHAT), "who": (line, WHO), "detail": (lines, DETAIL)}


def tell(session: Session, actor: Actor, body: EventTell) -> tuple[Annotation, bool]:
    """(what is known of it now, whether it is new). Raises NotFound, Forbidden, Invalid, Conflict."""
    policy(actor, "event.tell")
    if body.external_id is not None:
        known = queries.told_before(session, actor, body.external_id)
        if known is not None:
            return _again(session, actor, known, body), False
    place, hosts = _place(session, actor, body)
    row = Annotation(id=uuid7(), told_by=actor.id, external_id=body.external_id, place=place)
    row.everywhere = place["kind"] == "everywhere"
    row.kind, row.link = body.kind, body.link
    for name, (clean, most) in _WORDS.items():
        setattr(row, name, clean(getattr(body, name), most))
    row.t_ns = to_ns(_within(body.at or now()))
    row.end_ns = to_ns(_within(body.until)) if body.until else None
    _sound(row)
    if not _stored(session, row):
        assert body.external_id is not None
        raced = queries.told_before(session, actor, body.external_id)
        assert raced is not None
        return _again(session, actor, raced, body), False
    _name_hosts(session, row.id, hosts)
    kept = session.get_one(Annotation, row.id)
    audit.record(session, actor, "event.told", "event", row.id, **_told(kept), hosts=len(hosts))
    return kept, True


def _stored(session: Session, row: Annotation) -> bool:
    """False where somebody told it under the same id in the meantime."""
    values = {
        one.key: getattr(row, one.key)
        for one in Annotation.__table__.columns
        if getattr(row, one.key) is not None
    }
    query = upsert(Annotation).values(**values, created_at=now()).on_conflict_do_nothing()
    return session.execute(query.returning(Annotation.id)).scalar() is not None


def _again(session: Session, actor: Actor, row: Annotation, body: EventTell) -> Annotation:
    """A second telling corrects the first; what was withdrawn stays withdrawn."""
    if row.withdrawn_at is not None:
        raise Conflict("annotation.withdrawn")
    _require_covered(session, actor, row)
    given = body.model_dump(exclude_unset=True, exclude={"external_id"})
    _change(session, actor, row, given, body)
    return row


def correct(session: Session, actor: Actor, annotation_id: UUID, body: EventCorrect) -> Annotation:
    """Change what was told. Raises NotFound, Forbidden, Invalid, Conflict."""
    row = _own(session, actor, annotation_id)
    given = body.model_dump(exclude_unset=True)
    given = {name: value for name, value in given.items() if value is not None or name in {"until", "link"}}
    _change(session, actor, row, given, body)
    return row


def withdraw(session: Session, actor: Actor, annotation_id: UUID) -> None:
    """Take it from every timeline; that it was told stays in the list and in the audit log."""
    row = _own(session, actor, annotation_id)
    row.withdrawn_at, row.withdrawn_by = now(), actor.id
    audit.record(session, actor, "event.withdrawn", "event", row.id, **_told(row))


def _own(session: Session, actor: Actor, annotation_id: UUID) -> Annotation:
    """One that this actor may change, locked."""
    row = queries.one(session, actor, annotation_id, lock=True)
    if row is None:
        policy(actor, "event.tell")
        raise NotFound("annotation.not_found")
    policy(actor, "event.tell" if row.told_by == actor.id else "event.manage")
    _require_covered(session, actor, row)
    if row.withdrawn_at is not None:
        raise Conflict("annotation.withdrawn")
    return row


def _require_covered(session: Session, actor: Actor, row: Annotation) -> None:
    if queries.hides_hosts(session, actor, row):
        raise Forbidden("annotation.hosts_hidden")


def _change(
    session: Session, actor: Actor, row: Annotation, given: dict[str, Any], place: EventPlace
) -> None:
    """Set what differs, and say so in the audit log; nothing where nothing differs."""
    before = _told(row)
    for name, (clean, most) in _WORDS.items():
        if given.get(name) is not None:
            setattr(row, name, clean(given[name], most))
    if given.get("kind"):
        row.kind = given["kind"]
    if "link" in given:
        row.link = given["link"]
    if given.get("at"):
        row.t_ns = to_ns(_within(given["at"]))
    if "until" in given:
        row.end_ns = to_ns(_within(given["until"])) if given["until"] else None
    _sound(row)
    if any(given.get(name) for name in EventPlace.model_fields):
        row.place, hosts = _place(session, actor, place)
        row.everywhere = row.place["kind"] == "everywhere"
        session.execute(delete(AnnotationHost).where(AnnotationHost.annotation_id == row.id))
        _name_hosts(session, row.id, hosts)
    after = _told(row)
    changed: dict[str, Any] = {
        name: [before[name], after[name]] for name in after if after[name] != before[name]
    }
    if changed:
        row.changed_at = now()
        audit.record(session, actor, "event.corrected", "event", row.id, **changed)


def _place(session: Session, actor: Actor, body: EventPlace) -> tuple[dict[str, Any], list[UUID]]:
    """(how the hosts were named, which these are). Raises where there is no such host, or not for this actor."""
    ways = [name for name in EventPlace.model_fields if getattr(body, name)]
    if len(ways) != 1:
        raise Invalid("annotation.one_place")
    if body.everywhere:
        if not actor.unrestricted:
            raise Forbidden("annotation.everywhere_out_of_scope")
        return {"kind": "everywhere"}, []
    if body.hosts:
        found = queries.named_hosts(session, actor, body.hosts)
        missing = [name for name in body.hosts if name not in found]
        if missing:
            raise NotFound("annotation.no_such_host", host=line(missing[0], 120))
        return {"kind": "hosts"}, sorted({one for ids in found.values() for one in ids})
    labels, place = body.labels, {"kind": "labels", "labels": body.labels}
    if body.service:
        labels = queries.service_labels(session, body.service)
        if labels is None:
            raise NotFound("annotation.no_such_service", service=body.service)
        place = {"kind": "service", "service": body.service, "labels": labels}
    hosts = queries.labelled_hosts(session, actor, labels or {})
    if not hosts:
        shown = ", ".join(f"{name}={value}" for name, value in (labels or {}).items())
        raise Invalid("annotation.no_hosts", labels=shown)
    return place, hosts


def _name_hosts(session: Session, annotation_id: UUID, hosts: list[UUID]) -> None:
    if hosts:
        rows = [{"annotation_id": annotation_id, "host_id": host_id} for host_id in hosts]
        session.execute(insert(AnnotationHost), rows)


def _within(at: datetime) -> datetime:
    if not EARLIEST <= at <= now() + YEAR:
        raise Invalid("annotation.time", at=at.isoformat(timespec="seconds"))
    return at


def _sound(row: Annotation) -> None:
    """Raises Invalid where there is nothing to read, or it ends before it begins."""
    if not row.what:
        raise Invalid("annotation.nothing_told")
    if (
        row.end_ns is not None
        and not row.t_ns < row.end_ns <= row.t_ns + YEAR // timedelta(microseconds=1) * 1000
    ):
        raise Invalid("annotation.span", days=YEAR.days)


def _told(row: Annotation) -> dict[str, Any]:
    """What the audit log keeps."""
    return {
        "kind": row.kind,
        "what": row.what,
        "who": row.who,
        "detail": row.detail[:200],
        "link": row.link,
        "from": read.moment(row.t_ns).isoformat(),
        "until": read.moment(row.end_ns).isoformat() if row.end_ns is not None else None,
        "place": row.place,
    }
