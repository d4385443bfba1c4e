"""Every SELECT about pictures."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible_runs
from culprit.models import Evaluation, Finding, Host, Run


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


def get_evaluation(session: Session, run_id: UUID) -> Evaluation | None:
    """Return what the rules concluded about a run, in short; None where they were not evaluated."""
    return session.get(Evaluation, run_id)


def list_findings(session: Session, run_id: UUID) -> Sequence[Finding]:
    """Return the findings of a run."""
    return session.scalars(select(Finding).where(Finding.run_id == run_id).order_by(Finding.id)).all()
