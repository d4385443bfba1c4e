"""Every SELECT about events that were told, but those that draw them on a timeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, exists, func, or_, select, true
from sqlalchemy.orm import Session

from culprit.annotations.schemas import HostRef
from culprit.auth.actor import Actor
from culprit.auth.policy import hidden, visible
from culprit.models import Annotation, AnnotationHost, Host, Service, UserAccount

#: Names of hosts in one answer about one event; the rest is counted.
SHOWN = 20


def seen(actor: Actor) -> ColumnElement[bool]:
    """Those that exist for this actor: everywhere, of a visible host, or told by themselves."""
    if actor.unrestricted:
        return true()
    mine = (
        select(AnnotationHost.annotation_id)
        .join(Host, Host.id == AnnotationHost.host_id)
        .where(visible(actor))
    )
    return or_(Annotation.everywhere, Annotation.id.in_(mine), Annotation.told_by == actor.id)


def listed(
    actor: Actor, *, host_id: UUID | None, kind: str | None, after_ns: int | None, withdrawn: bool
) -> Select[Any]:
    """Those of a list."""
    query = select(Annotation).where(seen(actor))
    if host_id is not None:
        named = select(AnnotationHost.annotation_id).where(AnnotationHost.host_id == host_id)
        query = query.where(or_(Annotation.everywhere, Annotation.id.in_(named)))
    if kind is not None:
        query = query.where(Annotation.kind == kind)
    if after_ns is not None:
        query = query.where(Annotation.t_ns >= after_ns)
    return query if withdrawn else query.where(Annotation.withdrawn_at.is_(None))


def one(session: Session, actor: Actor, annotation_id: UUID, *, lock: bool = False) -> Annotation | None:
    """One that exists for this actor."""
    query = select(Annotation).where(Annotation.id == annotation_id, seen(actor))
    return session.scalars(query.with_for_update(of=Annotation) if lock else query).first()


def told_before(session: Session, actor: Actor, external_id: str) -> Annotation | None:
    """What this account has told under that id, locked."""
    query = select(Annotation).where(Annotation.told_by == actor.id, Annotation.external_id == external_id)
    return session.scalars(query.with_for_update()).first()


def named_hosts(session: Session, actor: Actor, wanted: Sequence[str]) -> dict[str, list[UUID]]:
    """Visible hosts by what they were called: an id, or the name of those that are not retired."""
    found: dict[str, list[UUID]] = {}
    ids = {as_id: text for text in wanted if (as_id := _uuid(text)) is not None}
    for host_id in session.scalars(select(Host.id).where(Host.id.in_(ids), visible(actor))):
        found.setdefault(ids[host_id], []).append(host_id)
    rest = [text for text in wanted if text not in found]
    query = select(Host.id, Host.name).where(Host.name.in_(rest), Host.state != "retired", visible(actor))
    for row in session.execute(query):
        found.setdefault(row.name, []).append(row.id)
    return found


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def labelled_hosts(session: Session, actor: Actor, labels: dict[str, str]) -> list[UUID]:
    """Visible hosts with all these labels."""
    query = select(Host.id).where(Host.labels.contains(labels), Host.state != "retired", visible(actor))
    return list(session.scalars(query))


def service_labels(session: Session, name: str) -> dict[str, str] | None:
    """The labels of the hosts that a service runs on."""
    return session.scalar(select(Service.selector).where(Service.name == name))


def hides_hosts(session: Session, actor: Actor, annotation: Annotation) -> bool:
    """Whether it holds for hosts that this actor does not see."""
    if actor.unrestricted:
        return False
    unseen = exists().where(
        AnnotationHost.annotation_id == annotation.id, AnnotationHost.host_id == Host.id, hidden(actor)
    )
    return annotation.everywhere or bool(session.scalar(select(unseen)))


def hosts_of(
    session: Session, actor: Actor, ids: Sequence[UUID]
) -> tuple[dict[UUID, list[HostRef]], dict[UUID, int]]:
    """(the first visible hosts of each, by name; how many visible ones there are)."""
    place = func.row_number().over(
        partition_by=AnnotationHost.annotation_id, order_by=(Host.name, Host.id)
    ).label("place")  # fmt: skip
    count = func.count().over(partition_by=AnnotationHost.annotation_id).label("visible_hosts")
    ranked = (
        select(AnnotationHost.annotation_id, Host.id, Host.name, place, count)
        .join(Host, Host.id == AnnotationHost.host_id)
        .where(AnnotationHost.annotation_id.in_(ids), visible(actor))
        .subquery()
    )
    shown: dict[UUID, list[HostRef]] = {}
    counts: dict[UUID, int] = {}
    query = select(ranked).where(ranked.c.place <= SHOWN).order_by(ranked.c.annotation_id, ranked.c.place)
    for row in session.execute(query):
        shown.setdefault(row.annotation_id, []).append(HostRef(id=row.id, name=row.name))
        counts[row.annotation_id] = row.visible_hosts
    return shown, counts


def people(session: Session, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Names of accounts."""
    rows = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(set(ids))))
    return {row.id: row.name for row in rows}
