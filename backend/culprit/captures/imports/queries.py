"""Every SELECT about imports."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible, visible_runs
from culprit.models import Capture, Host, Run


def host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """A host that exists for this actor."""
    return session.scalar(select(Host).where(Host.id == host_id, visible(actor)))


def imported_host(session: Session, actor: Actor, name: str) -> Host | None:
    """A host that is known only from imports, by name, where it exists for this actor."""
    query = select(Host).where(Host.name == name, Host.state == "imported", visible(actor))
    return session.scalars(query.order_by(Host.id)).first()


def imported_before(session: Session, actor: Actor, sha256: str) -> tuple[Run, Capture] | None:
    """The run that a file has become before, where it exists for this actor."""
    row = session.execute(
        select(Run, Capture)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Capture.source == "import", Run.spec["sha256"].astext == sha256, visible_runs(actor))
        .order_by(Run.id)
        .limit(1)
    ).first()
    return (row[0], row[1]) if row is not None else None
