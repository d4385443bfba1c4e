"""SELECTs about charts."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_runs_clause
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host


def list_peer_runs(session: Session, actor: Actor, run: Run, most: int) -> dict[UUID, str]:
    """Return stored runs of the same capture on other hosts that the actor can see, with the host names."""
    query = (
        select(Run.id, Host.name)
        .join(Host, Host.id == Run.host_id)
        .where(
            Run.capture_id == run.capture_id,
            Run.id != run.id,
            Run.host_id != run.host_id,
            Run.state.in_(("done", "partial")),
            visible_runs_clause(actor),
        )
        .order_by(Host.name, Run.id)
        .limit(most)
    )
    return {row.id: row.name for row in session.execute(query)}


def get_evaluation(session: Session, run_id: UUID) -> Evaluation | None:
    """Return the summary of the rule evaluation of a run, or None if it was not evaluated."""
    return session.get(Evaluation, run_id)


def list_findings(session: Session, run_id: UUID) -> Sequence[StoredFinding]:
    """Return the findings of a run."""
    return session.scalars(
        select(StoredFinding).where(StoredFinding.run_id == run_id).order_by(StoredFinding.id)
    ).all()
