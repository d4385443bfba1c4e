"""Every SELECT about findings and thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible, visible_runs
from culprit.models import Capture, CauseOutcome, Evaluation, Finding, Host, Run, Threshold


def run(session: Session, actor: Actor, run_id: UUID) -> Run | None:
    """The run, where it exists for this actor."""
    return session.scalar(select(Run).where(Run.id == run_id, visible_runs(actor)))


def host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """The host, where it exists for this actor."""
    return session.scalar(select(Host).where(Host.id == host_id, visible(actor)))


def newest_run(session: Session, host_id: UUID) -> tuple[Run, Capture] | None:
    """The run on a host that was evaluated and ended last."""
    row = session.execute(
        select(Run, Capture)
        .join(Evaluation, Evaluation.run_id == Run.id)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Run.host_id == host_id)
        .order_by(Run.ended_at.desc().nulls_last())
        .limit(1)
    ).first()
    return (row[0], row[1]) if row is not None else None


def evaluation(session: Session, run_id: UUID) -> Evaluation | None:
    """What rules said about a run, in short."""
    return session.get(Evaluation, run_id)


def findings(session: Session, run_id: UUID) -> Sequence[Finding]:
    """What fired on a run."""
    return session.scalars(select(Finding).where(Finding.run_id == run_id).order_by(Finding.id)).all()


def outcomes(session: Session) -> dict[tuple[str, bool], int]:
    """How often each cause turned out right, and wrong."""
    query = select(CauseOutcome.cause, CauseOutcome.right, func.count()).group_by(
        CauseOutcome.cause, CauseOutcome.right
    )
    return {(row[0], row[1]): row[2] for row in session.execute(query)}


def thresholds(session: Session, actor: Actor) -> Sequence[Threshold]:
    """All that somebody set, for the fleet, for labels, and for hosts that exist for this actor."""
    seen = select(Host.id).where(visible(actor))
    query = select(Threshold).where(or_(Threshold.host_id.is_(None), Threshold.host_id.in_(seen)))
    return session.scalars(query.order_by(Threshold.name, Threshold.id)).all()


def overrides(session: Session, host_id: UUID | None, labels: Mapping[str, str]) -> dict[str, float]:
    """Thresholds as they hold for one host: host over label over fleet."""
    rows = session.scalars(
        select(Threshold).where(or_(Threshold.host_id.is_(None), Threshold.host_id == host_id))
    ).all()
    fitting = [row for row in rows if row.label_name is None or labels.get(row.label_name) == row.label_value]
    fitting.sort(key=lambda row: (row.host_id is not None, row.label_name or "", row.label_value or ""))
    return {row.name: row.value for row in fitting}
