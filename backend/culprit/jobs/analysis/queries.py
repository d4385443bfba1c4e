"""Select the runs and diagnoses that wait for an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Select, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from culprit.evidence.readiness_queries import BEFORE_PROFILES, pending_profiles_condition
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.verification import Verification
from culprit.infra.models.system.removal import Removal

EVALUATE_AFTER = timedelta(seconds=5)
EVALUATE_WITHIN = timedelta(days=1)
_now = func.clock_timestamp


def pending_evaluations() -> Select[UUID]:
    """Select recent runs that were not evaluated, or not since their profiles were built, without those under way.

    An evaluation is a transaction that locks its run. The lock is its lease: it ends with the connection of the worker.
    """
    return (
        select(Run.id)
        .outerjoin(Evaluation, Evaluation.run_id == Run.id)
        .where(
            Run.state.in_(("done", "partial")),
            func.greatest(Run.ended_at, Run.heartbeat_at).between(
                _now() - EVALUATE_WITHIN, _now() - EVALUATE_AFTER
            ),
            or_(
                Evaluation.run_id.is_(None),
                and_(Evaluation.ranking.has_key(BEFORE_PROFILES), ~pending_profiles_condition(Run.id)),
            ),
        )
        .with_for_update(of=Run, read=True, skip_locked=True)
    )


def pending_diagnoses() -> Select[UUID]:
    """Select the running diagnoses."""
    return select(Diagnosis.id).where(Diagnosis.state == "running")


def lock_run(session: Session, run_id: UUID) -> Run | None:
    """Return a run, locked, or None."""
    return session.scalar(select(Run).where(Run.id == run_id).with_for_update(of=Run, key_share=True))


def has_pending_profiles(session: Session, run_id: UUID) -> bool:
    """Return whether profiles of a run are not built yet."""
    return bool(session.scalar(select(pending_profiles_condition(run_id))))


def is_evaluated_before_removal(session: Session, run_id: UUID) -> bool:
    """Return whether a run is evaluated and retention has deleted some of its data: its findings are kept."""
    removed = exists(select(Removal.kind).where(Removal.run_id == run_id))
    evaluated = exists(select(Evaluation.run_id).where(Evaluation.run_id == run_id))
    return bool(session.scalar(select(and_(removed, evaluated))))


def find_diagnosis_id(session: Session, capture_id: UUID) -> UUID | None:
    """Return the diagnosis that a capture is a stage of, or None."""
    return session.scalar(select(Capture.diagnosis_id).where(Capture.id == capture_id))


def is_incident_run(session: Session, run_id: UUID) -> bool:
    """Return whether an incident uses a run."""
    return bool(
        session.scalar(select(exists(select(IncidentRun.run_id).where(IncidentRun.run_id == run_id))))
    )


def list_verification_ids(session: Session, capture_id: UUID) -> Sequence[UUID]:
    """Return the unfinished verifications that measure with a capture."""
    sides = (Verification.captures_before, Verification.after)
    query = select(Verification.id).where(
        Verification.state.in_(("before", "collecting")),
        or_(*(captures.contains([str(capture_id)]) for captures in sides)),
    )
    return session.scalars(query).all()
