"""SELECTs of services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, literal, or_, select, true
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.service import Service
from culprit.web.errors import NotFoundError


def visible_services_clause(actor: Actor) -> ColumnElement[bool]:
    """Return the condition for visible services: those that can run on a visible host."""
    if not actor.label_scope:
        return true()
    return and_(
        *(
            or_(Service.selector[name].astext.is_(None), Service.selector[name].astext.in_(list(values)))
            for name, values in actor.label_scope.items()
        )
    )


def select_services(actor: Actor) -> Select[Any]:
    """Select the visible services."""
    return select(Service).where(visible_services_clause(actor))


def get_service(session: Session, actor: Actor, service_id: UUID, *, lock: bool = False) -> Service:
    """Return a visible service. Raises NotFoundError."""
    query = select(Service).where(Service.id == service_id, visible_services_clause(actor))
    row = session.scalars(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFoundError("service.not_found")
    return row


def find_service_id(session: Session, name: str) -> UUID | None:
    """Return the ID of the service with this name, whether visible or not."""
    return session.scalar(select(Service.id).where(Service.name == name))


def count_hosts(session: Session, actor: Actor, rows: Sequence[Service]) -> dict[UUID, int]:
    """Return on how many visible active hosts each service runs."""
    if not rows:
        return {}
    query = (
        select(Service.id, func.count(Host.id))
        .join(Host, Host.labels.contains(Service.selector))
        .where(Service.id.in_([row.id for row in rows]), Host.state == "active", visible_hosts_clause(actor))
        .group_by(Service.id)
    )
    return {row[0]: row[1] for row in session.execute(query)}


def find_measured_service(session: Session, host: Host, source_kind: str = "prometheus") -> Service | None:
    """Return the service on a host with this kind of source: the most specific of several."""
    query = select(Service).where(
        Service.source_kind == source_kind, literal(host.labels, Host.labels.type).contains(Service.selector)
    )
    services = session.scalars(query).all()
    return min(services, key=lambda item: (-len(item.selector), item.name), default=None)


def find_service_on_host(session: Session, host: Host, name: str) -> Service | None:
    """Return the service with this name if it runs on the host."""
    return session.scalar(
        select(Service).where(
            Service.name == name, literal(host.labels, Host.labels.type).contains(Service.selector)
        )
    )
