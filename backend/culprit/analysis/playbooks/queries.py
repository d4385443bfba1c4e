"""Every SELECT about playbooks."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible_runs
from culprit.models import Evaluation, Finding, Run, RunCollector


def run(session: Session, actor: Actor, run_id: UUID) -> Run | None:
    """The run, where it exists for this actor."""
    return session.scalar(select(Run).where(Run.id == run_id, visible_runs(actor)))


def evaluation(session: Session, run_id: UUID) -> Evaluation | None:
    """What rules said about a run, in short."""
    return session.get(Evaluation, run_id)


def findings(session: Session, run_id: UUID) -> Sequence[Finding]:
    """What fired on a run."""
    return session.scalars(select(Finding).where(Finding.run_id == run_id).order_by(Finding.id)).all()


def tried(session: Session, run_id: UUID) -> Sequence[str]:
    """The collectors of a run, whatever became of them."""
    return session.scalars(select(RunCollector.collector).where(RunCollector.run_id == run_id)).all()
