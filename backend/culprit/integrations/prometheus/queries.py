"""Every SELECT of the exports."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.models import Host, Service

MOST_PAIRS = 5000


def services_of(session: Session, actor: Actor, host_ids: Sequence[UUID]) -> list[tuple[UUID, str]]:
    """(host, name of a service that runs on it), by name."""
    query = (
        select(Host.id, Service.name)
        .join(Service, Host.labels.contains(Service.selector))
        .where(Host.id.in_(host_ids), visible(actor))
        .order_by(Host.name, Service.name)
        .limit(MOST_PAIRS)
    )
    return [(row[0], row[1]) for row in session.execute(query)]
