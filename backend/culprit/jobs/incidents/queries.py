"""Queries of the incident jobs."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Select, exists, func, or_, select
from sqlalchemy.orm import Session

from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.captures.run import Run
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_origin import IncidentOrigin
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.journal_entry import JournalEntry
from culprit.jobs.analysis.queries import EVALUATE_AFTER, EVALUATE_WITHIN

_now = func.clock_timestamp


def lock_incident(session: Session, incident_id: UUID) -> Incident | None:
    """Lock an incident until the end of the transaction, or return None."""
    query = select(Incident).where(Incident.id == incident_id)
    return session.scalar(query.with_for_update(of=Incident, key_share=True))


def list_incident_ids(session: Session, run_id: UUID) -> Sequence[UUID]:
    """List the incidents with this run."""
    query = select(IncidentRun.incident_id).where(IncidentRun.run_id == run_id)
    return session.scalars(query.order_by(IncidentRun.incident_id)).all()


def list_run_entries(session: Session, incident_id: UUID, kind: str, run_id: UUID) -> Sequence[JournalEntry]:
    """List the journal entries of a kind about a run, the oldest first."""
    query = select(JournalEntry).where(
        JournalEntry.incident_id == incident_id,
        JournalEntry.kind == kind,
        JournalEntry.params["run_id"].astext == str(run_id),
    )
    return session.scalars(query.order_by(JournalEntry.version)).all()


def list_capture_runs(session: Session, capture_id: UUID) -> Sequence[Run]:
    """List the runs of a capture."""
    return session.scalars(select(Run).where(Run.capture_id == capture_id)).all()


def is_evaluated(session: Session, run_id: UUID) -> bool:
    """Return whether the rules were evaluated on a run."""
    return bool(session.scalar(select(exists(select(Evaluation.run_id).where(Evaluation.run_id == run_id)))))


def pending_journal_runs() -> Select[UUID]:
    """Select recently evaluated runs of an incident whose findings are not in its journal yet."""
    return (
        select(IncidentRun.run_id)
        .join(Evaluation, Evaluation.run_id == IncidentRun.run_id)
        .where(
            Evaluation.at.between(_now() - EVALUATE_WITHIN, _now() - EVALUATE_AFTER),
            or_(IncidentRun.recorded_at.is_(None), IncidentRun.recorded_at < Evaluation.at),
        )
        .distinct()
    )


def pending_incident_diagnoses() -> Select[UUID]:
    """Select the ended diagnoses of incidents whose runs and causes are not in the incident yet."""
    return select(Diagnosis.id).where(
        Diagnosis.incident_id.is_not(None), Diagnosis.recorded_at.is_(None), Diagnosis.state != "running"
    )


def has_unrecorded_diagnosis(session: Session, incident_id: UUID) -> bool:
    """Return whether a diagnosis of the incident runs, or has ended and is not in the incident yet."""
    query = select(Diagnosis.id).where(Diagnosis.incident_id == incident_id, Diagnosis.recorded_at.is_(None))
    return bool(session.scalar(select(exists(query))))


def pending_comparisons() -> Select[UUID]:
    """Select recently imported incidents whose verdicts were not compared yet."""
    return select(IncidentOrigin.incident_id).where(
        IncidentOrigin.compared.is_(None), IncidentOrigin.imported_at > _now() - EVALUATE_WITHIN
    )


def pending_autopilots() -> Select[UUID]:
    """Select the incidents whose autopilot is running."""
    return select(Incident.id).where(Incident.autopilot["state"].astext == "running")
