"""SELECTs about findings and thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause, visible_runs_clause
from culprit.infra.models.analysis.cause_outcome import CauseOutcome
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.analysis.threshold import ThresholdOverride
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host


def find_run(session: Session, actor: Actor, run_id: UUID) -> Run | None:
    """Return the run if the actor may see it."""
    return session.scalar(select(Run).where(Run.id == run_id, visible_runs_clause(actor)))


def find_host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """Return the host if the actor may see it."""
    return session.scalar(select(Host).where(Host.id == host_id, visible_hosts_clause(actor)))


def list_newest_runs(session: Session, host_id: UUID, limit: int) -> list[tuple[Run, Capture]]:
    """Return the evaluated runs of a host that ended last, the newest first, each with its capture."""
    rows = session.execute(
        select(Run, Capture)
        .join(Evaluation, Evaluation.run_id == Run.id)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Run.host_id == host_id)
        .order_by(Run.ended_at.desc().nulls_last())
        .limit(limit)
    )
    return [(row[0], row[1]) for row in rows]


def find_evaluation(session: Session, run_id: UUID) -> Evaluation | None:
    """Return the evaluation of a run, or None if the rules were not evaluated."""
    return session.get(Evaluation, run_id)


def list_findings(session: Session, run_id: UUID) -> Sequence[StoredFinding]:
    """Return the findings of a run that matched or are inconclusive."""
    return session.scalars(
        select(StoredFinding).where(StoredFinding.run_id == run_id).order_by(StoredFinding.id)
    ).all()


def count_outcomes(session: Session) -> dict[tuple[str, bool], int]:
    """Count how often each cause was confirmed (True) and rejected (False), by (cause, confirmed)."""
    query = select(CauseOutcome.cause, CauseOutcome.right, func.count()).group_by(
        CauseOutcome.cause, CauseOutcome.right
    )
    return {(row[0], row[1]): row[2] for row in session.execute(query)}


def list_overrides(session: Session, actor: Actor) -> Sequence[ThresholdOverride]:
    """Return the overrides for all hosts, for labels, and for hosts that the actor may see."""
    visible_hosts = select(Host.id).where(visible_hosts_clause(actor))
    query = select(ThresholdOverride).where(
        or_(ThresholdOverride.host_id.is_(None), ThresholdOverride.host_id.in_(visible_hosts))
    )
    return session.scalars(query.order_by(ThresholdOverride.name, ThresholdOverride.id)).all()


def find_override(session: Session, threshold_id: UUID) -> ThresholdOverride | None:
    """Return one override."""
    return session.scalar(select(ThresholdOverride).where(ThresholdOverride.id == threshold_id))


def resolve_overrides(session: Session, host_id: UUID | None, labels: Mapping[str, str]) -> dict[str, float]:
    """Return the overridden thresholds of one host by name: host before label before all hosts."""
    rows = session.scalars(
        select(ThresholdOverride).where(
            or_(ThresholdOverride.host_id.is_(None), ThresholdOverride.host_id == host_id)
        )
    ).all()
    matches = [row for row in rows if row.label_name is None or labels.get(row.label_name) == row.label_value]
    matches.sort(key=lambda row: (row.host_id is not None, row.label_name or "", row.label_value or ""))
    return {row.name: row.value for row in matches}
