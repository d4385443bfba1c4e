"""Every SELECT about services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, literal, or_, select, true
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.infra.addresses import Rule
from culprit.kit.errors import NotFound
from culprit.models import Host, NetworkRule, Service


def seen(actor: Actor) -> ColumnElement[bool]:
    """The services that exist for this actor: those that could run on a host of their scope."""
    if not actor.label_scope:
        return true()
    return and_(
        *(
            or_(Service.selector[name].astext.is_(None), Service.selector[name].astext.in_(list(values)))
            for name, values in actor.label_scope.items()
        )
    )


def service_list(actor: Actor) -> Select[Any]:
    """The visible ones."""
    return select(Service).where(seen(actor))


def service(session: Session, actor: Actor, service_id: UUID, *, lock: bool = False) -> Service:
    """One visible service. Raises NotFound."""
    query = select(Service).where(Service.id == service_id, seen(actor))
    found = session.scalars(query.with_for_update() if lock else query).first()
    if found is None:
        raise NotFound("service.not_found")
    return found


def named(session: Session, name: str) -> UUID | None:
    """The service of that name, whoever may see it."""
    return session.scalar(select(Service.id).where(Service.name == name))


def host_counts(session: Session, actor: Actor, rows: Sequence[Service]) -> dict[UUID, int]:
    """How many visible active hosts each service runs on."""
    if not rows:
        return {}
    query = (
        select(Service.id, func.count(Host.id))
        .join(Host, Host.labels.contains(Service.selector))
        .where(Service.id.in_([row.id for row in rows]), Host.state == "active", visible(actor))
        .group_by(Service.id)
    )
    return {row[0]: row[1] for row in session.execute(query)}


def measured(session: Session, host: Host, source_kind: str = "prometheus") -> Service | None:
    """The service on a host that is measured that way: of several, the one that names most labels."""
    query = select(Service).where(
        Service.source_kind == source_kind, literal(host.labels, Host.labels.type).contains(Service.selector)
    )
    found = session.scalars(query).all()
    return min(found, key=lambda one: (-len(one.selector), one.name), default=None)


def on_host(session: Session, host: Host, name: str) -> Service | None:
    """The service of that name, where it runs on the host."""
    return session.scalar(
        select(Service).where(
            Service.name == name, literal(host.labels, Host.labels.type).contains(Service.selector)
        )
    )


def rules(session: Session) -> tuple[Rule, ...]:
    """The allow-list: what may be dialled over HTTP is what may be dialled at all."""
    return tuple(
        Rule(str(rule.cidr), rule.port_from, rule.port_to) for rule in session.scalars(select(NetworkRule))
    )
