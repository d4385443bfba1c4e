"""SELECTs of the integrations."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.service import Service

MAX_PAIRS = 5000


def list_host_services(session: Session, actor: Actor, host_ids: Sequence[UUID]) -> list[tuple[UUID, str]]:
    """Return (host, name of a service that runs on it), by name."""
    query = (
        select(Host.id, Service.name)
        .join(Service, Host.labels.contains(Service.selector))
        .where(Host.id.in_(host_ids), visible_hosts_clause(actor))
        .order_by(Host.name, Service.name)
        .limit(MAX_PAIRS)
    )
    return [(row[0], row[1]) for row in session.execute(query)]
