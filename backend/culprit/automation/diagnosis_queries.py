"""SELECTs of diagnoses and the runs of their stages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from culprit.evidence.readiness_queries import PARSED_STATES
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host


def lock_diagnosis(session: Session, diagnosis_id: UUID) -> Diagnosis | None:
    """Return a diagnosis, locked, or None."""
    return session.scalar(
        select(Diagnosis).where(Diagnosis.id == diagnosis_id).with_for_update(of=Diagnosis, key_share=True)
    )


def list_stage_runs(session: Session, diagnosis: Diagnosis) -> list[Run]:
    """Return the runs on the diagnosed host, in the order of the stages."""
    ids = [UUID(stage["capture_id"]) for stage in diagnosis.stages]
    query = select(Run).where(Run.capture_id.in_(ids), Run.host_id == diagnosis.host_id)
    by_capture = {run.capture_id: run for run in session.scalars(query)}
    return [by_capture[item] for item in ids if item in by_capture]


def list_capture_runs(session: Session, capture_id: UUID) -> Sequence[Run]:
    """Return all runs of a capture."""
    return session.scalars(select(Run).where(Run.capture_id == capture_id)).all()


def is_evaluated(session: Session, run_id: UUID) -> bool:
    """Return whether the findings of a run are stored."""
    return bool(session.scalar(select(exists(select(Evaluation.run_id).where(Evaluation.run_id == run_id)))))


def list_peer_runs(session: Session, capture_id: UUID, host_id: UUID) -> dict[str, UUID]:
    """Return the parsed runs of a capture on other hosts than `host_id`, by the name of the host."""
    rows = session.execute(
        select(Run.id, Host.name)
        .join(Host, Host.id == Run.host_id)
        .where(Run.capture_id == capture_id, Run.host_id != host_id, Run.state.in_(PARSED_STATES))
    )
    return {row.name: row.id for row in rows}


def get_clock(session: Session) -> datetime:
    """Return the current time of the database's clock."""
    at: datetime | None = session.scalar(select(func.clock_timestamp()))
    assert at is not None
    return at
