"""Every SELECT about pictures."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible_runs
from culprit.models import Host, Run


def siblings(session: Session, actor: Actor, run: Run, most: int) -> dict[UUID, str]:
    """Runs of the same capture on other hosts that came home and exist for this actor, with the names of the hosts."""
    query = (
        select(Run.id, Host.name)
        .join(Host, Host.id == Run.host_id)
        .where(
            Run.capture_id == run.capture_id,
            Run.id != run.id,
            Run.host_id != run.host_id,
            Run.state.in_(("done", "partial")),
            visible_runs(actor),
        )
        .order_by(Host.name, Run.id)
        .limit(most)
    )
    return {row.id: row.name for row in session.execute(query)}
