"""Select the hosts and runs of imports."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause, visible_runs_clause
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host


def find_host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """Return a host that is visible for this actor, or None."""
    return session.scalar(select(Host).where(Host.id == host_id, visible_hosts_clause(actor)))


def find_imported_host(session: Session, actor: Actor, name: str) -> Host | None:
    """Return a host that is known only from imports, by name, if it is visible for this actor."""
    query = select(Host).where(Host.name == name, Host.state == "imported", visible_hosts_clause(actor))
    return session.scalars(query.order_by(Host.id)).first()


def find_earlier_import(session: Session, actor: Actor, sha256: str) -> tuple[Run, Capture] | None:
    """Return the run of an earlier import of the same file, if it is visible for this actor."""
    row = session.execute(
        select(Run, Capture)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Capture.source == "import", Run.spec["sha256"].astext == sha256, visible_runs_clause(actor))
        .order_by(Run.id)
        .limit(1)
    ).first()
    return (row[0], row[1]) if row is not None else None
