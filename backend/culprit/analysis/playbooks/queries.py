"""Queries of playbook dry runs."""

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
from culprit.infra.models.captures.run_collector import RunCollector


def find_run(session: Session, actor: Actor, run_id: UUID) -> Run | None:
    """Return the run if it is visible to the actor."""
    return session.scalar(select(Run).where(Run.id == run_id, visible_runs_clause(actor)))


def find_evaluation(session: Session, run_id: UUID) -> Evaluation | None:
    """Return the evaluation of a run."""
    return session.get(Evaluation, run_id)


def list_findings(session: Session, run_id: UUID) -> Sequence[StoredFinding]:
    """Return the matched findings of a run."""
    return session.scalars(
        select(StoredFinding).where(StoredFinding.run_id == run_id).order_by(StoredFinding.id)
    ).all()


def list_collectors(session: Session, run_id: UUID) -> Sequence[str]:
    """Return the ids of the collectors of a run, with any result."""
    return session.scalars(select(RunCollector.collector).where(RunCollector.run_id == run_id)).all()
