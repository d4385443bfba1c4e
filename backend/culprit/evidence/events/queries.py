"""SELECTs about reported events, without those of the timeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, exists, func, or_, select, true
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import hidden_hosts_clause, visible_hosts_clause
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.evidence.reported_event_host import ReportedEventHost
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.service import Service
from culprit.web.schemas import HostRef

#: Maximum number of hosts listed for one event; further hosts are counted.
MAX_LISTED_HOSTS = 20


def visible_events_clause(actor: Actor) -> ColumnElement[bool]:
    """Return a condition for the events visible to an actor: everywhere, of a visible host, or reported by them."""
    if actor.unrestricted:
        return true()
    of_visible_hosts = (
        select(ReportedEventHost.reported_event_id)
        .join(Host, Host.id == ReportedEventHost.host_id)
        .where(visible_hosts_clause(actor))
    )
    return or_(
        ReportedEvent.everywhere,
        ReportedEvent.id.in_(of_visible_hosts),
        ReportedEvent.reported_by == actor.id,
    )


def select_events(
    actor: Actor, *, host_id: UUID | None, kind: str | None, after_ns: int | None, withdrawn: bool
) -> Select[Any]:
    """Return the query of a list of events."""
    query = select(ReportedEvent).where(visible_events_clause(actor))
    if host_id is not None:
        named = select(ReportedEventHost.reported_event_id).where(ReportedEventHost.host_id == host_id)
        query = query.where(or_(ReportedEvent.everywhere, ReportedEvent.id.in_(named)))
    if kind is not None:
        query = query.where(ReportedEvent.kind == kind)
    if after_ns is not None:
        query = query.where(ReportedEvent.t_ns >= after_ns)
    return query if withdrawn else query.where(ReportedEvent.withdrawn_at.is_(None))


def find_event(
    session: Session, actor: Actor, reported_event_id: UUID, *, lock: bool = False
) -> ReportedEvent | None:
    """Return the event, or None if it does not exist for this actor."""
    query = select(ReportedEvent).where(ReportedEvent.id == reported_event_id, visible_events_clause(actor))
    return session.scalars(query.with_for_update(of=ReportedEvent) if lock else query).first()


def find_by_external_id(session: Session, actor: Actor, external_id: str) -> ReportedEvent | None:
    """Return the locked event that this account reported with an external ID, or None."""
    query = select(ReportedEvent).where(
        ReportedEvent.reported_by == actor.id, ReportedEvent.external_id == external_id
    )
    return session.scalars(query.with_for_update()).first()


def find_named_hosts(session: Session, actor: Actor, requested: Sequence[str]) -> dict[str, list[UUID]]:
    """Return visible hosts by the requested ID or name. Retired hosts have no name here."""
    host_ids: dict[str, list[UUID]] = {}
    ids = {as_id: text for text in requested if (as_id := _uuid(text)) is not None}
    for host_id in session.scalars(select(Host.id).where(Host.id.in_(ids), visible_hosts_clause(actor))):
        host_ids.setdefault(ids[host_id], []).append(host_id)
    rest = [text for text in requested if text not in host_ids]
    query = select(Host.id, Host.name).where(
        Host.name.in_(rest), Host.state != "retired", visible_hosts_clause(actor)
    )
    for row in session.execute(query):
        host_ids.setdefault(row.name, []).append(row.id)
    return host_ids


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def list_labeled_hosts(session: Session, actor: Actor, labels: dict[str, str]) -> list[UUID]:
    """Return visible hosts with all these labels."""
    query = select(Host.id).where(
        Host.labels.contains(labels), Host.state != "retired", visible_hosts_clause(actor)
    )
    return list(session.scalars(query))


def find_service_labels(session: Session, name: str) -> dict[str, str] | None:
    """Return the labels of the hosts of a service, or None if it does not exist."""
    return session.scalar(select(Service.selector).where(Service.name == name))


def has_hidden_hosts(session: Session, actor: Actor, event: ReportedEvent) -> bool:
    """Return whether an event applies to hosts that this actor cannot see."""
    if actor.unrestricted:
        return False
    unseen = exists().where(
        ReportedEventHost.reported_event_id == event.id,
        ReportedEventHost.host_id == Host.id,
        hidden_hosts_clause(actor),
    )
    return event.everywhere or bool(session.scalar(select(unseen)))


def load_event_hosts(
    session: Session, actor: Actor, ids: Sequence[UUID]
) -> tuple[dict[UUID, list[HostRef]], dict[UUID, int]]:
    """Return the first visible hosts of each event by name, and the number of visible hosts."""
    position = func.row_number().over(
        partition_by=ReportedEventHost.reported_event_id, order_by=(Host.name, Host.id)
    ).label("position")  # fmt: skip
    count = func.count().over(partition_by=ReportedEventHost.reported_event_id).label("visible_hosts")
    ranked = (
        select(ReportedEventHost.reported_event_id, Host.id, Host.name, position, count)
        .join(Host, Host.id == ReportedEventHost.host_id)
        .where(ReportedEventHost.reported_event_id.in_(ids), visible_hosts_clause(actor))
        .subquery()
    )
    host_refs: dict[UUID, list[HostRef]] = {}
    counts: dict[UUID, int] = {}
    query = (
        select(ranked)
        .where(ranked.c.position <= MAX_LISTED_HOSTS)
        .order_by(ranked.c.reported_event_id, ranked.c.position)
    )
    for row in session.execute(query):
        host_refs.setdefault(row.reported_event_id, []).append(HostRef(id=row.id, name=row.name))
        counts[row.reported_event_id] = row.visible_hosts
    return host_refs, counts


def load_user_names(session: Session, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return the names of accounts, by ID."""
    rows = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(set(ids))))
    return {row.id: row.name for row in rows}
