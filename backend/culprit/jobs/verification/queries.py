"""Queries of the verification jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Row, Select, exists, func, select
from sqlalchemy.orm import Session

from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.journal_entry import JournalEntry
from culprit.infra.models.incidents.verification import Verification
from culprit.json_types import Json

#: Maximum number of captures of a host on one side, the latest before the fix.
MAX_BEFORE = 12
#: States of runs with results.
FINISHED_STATES = ("done", "partial")


def pending_verifications() -> Select[UUID]:
    """Select the verifications that are not finished and do not only wait for a person."""
    repeats = (Verification.kind != "alternating") & (
        func.jsonb_array_length(Verification.captures_before) < MAX_BEFORE
    )
    return select(Verification.id).where(
        Verification.state.in_(("before", "collecting", "judging"))
        | ((Verification.state == "waiting") & repeats)
    )


def get_database_time(session: Session) -> datetime:
    """Return the clock of the database."""
    at: datetime = session.scalars(select(func.clock_timestamp())).one()
    return at


def has_canceled_capture(session: Session, capture_ids: Collection[UUID]) -> bool:
    """Return whether a user canceled one of these captures."""
    query = select(Capture.id).where(Capture.id.in_(capture_ids), Capture.cancel_requested_at.is_not(None))
    return bool(session.scalar(select(exists(query))))


def list_running_captures(session: Session, capture_ids: Collection[UUID]) -> Sequence[Capture]:
    """List those of these captures that run and are not canceled."""
    query = select(Capture).where(
        Capture.id.in_(capture_ids), Capture.ended_at.is_(None), Capture.cancel_requested_at.is_(None)
    )
    return session.scalars(query).all()


def list_runs(session: Session, capture_id: UUID) -> Sequence[Run]:
    """List the runs of a capture."""
    return session.scalars(select(Run).where(Run.capture_id == capture_id)).all()


def list_finished_runs(session: Session, capture_ids: Collection[UUID], host_id: UUID) -> list[Run]:
    """List the finished runs of these captures on a host, the earliest first."""
    query = select(Run).where(
        Run.capture_id.in_(capture_ids),
        Run.host_id == host_id,
        Run.state.in_(FINISHED_STATES),
        Run.t0_ns.is_not(None),
    )
    return list(session.scalars(query.order_by(Run.t0_ns)))


def list_runs_of_side_before(
    session: Session, incident_id: UUID, host_ids: Collection[UUID], run_ids: Collection[UUID]
) -> Sequence[Row[Run, Capture]]:
    """List finished runs of hosts with their captures: these runs, or without any those of the incident."""
    query = (
        select(Run, Capture)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Run.host_id.in_(host_ids), Run.state.in_(FINISHED_STATES), Run.t0_ns.is_not(None))
        .order_by(Run.t0_ns)
    )
    if run_ids:
        query = query.where(Run.id.in_(run_ids))
    else:
        query = query.join(IncidentRun, IncidentRun.run_id == Run.id).where(
            IncidentRun.incident_id == incident_id, IncidentRun.role.in_(("before", "evidence"))
        )
    return session.execute(query).all()


def list_run_states(session: Session, capture_id: UUID) -> Sequence[Row[UUID, str, bool]]:
    """List (id, state, is evaluated) of the runs of a capture."""
    evaluated = exists(select(Evaluation.run_id).where(Evaluation.run_id == Run.id))
    return session.execute(select(Run.id, Run.state, evaluated).where(Run.capture_id == capture_id)).all()


def find_last_end(session: Session, capture_ids: Collection[UUID]) -> datetime | None:
    """Return when the last run of these captures ended, or None."""
    return session.scalar(select(func.max(Run.ended_at)).where(Run.capture_id.in_(capture_ids)))


def find_last_rollback(session: Session, fix: Fix) -> datetime | None:
    """Return when a fix of this incident was last rolled back, or None."""
    query = select(func.max(JournalEntry.at)).where(
        JournalEntry.incident_id == fix.incident_id, JournalEntry.kind == "fix_reverted"
    )
    return session.scalar(query)


def lock_incident_of_fix(session: Session, fix_id: UUID) -> None:
    """Lock the incident of a fix until the end of the transaction."""
    incident_id = select(Fix.incident_id).where(Fix.id == fix_id).scalar_subquery()
    session.execute(select(Incident.id).where(Incident.id == incident_id).with_for_update())


def find_host_scope(session: Session, incident_id: UUID, host_id: UUID) -> Json | None:
    """Return the scope of a host in an incident, or None."""
    return session.scalar(
        select(IncidentHost.scope).where(
            IncidentHost.incident_id == incident_id, IncidentHost.host_id == host_id
        )
    )


def map_host_names(session: Session, host_ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the names of these hosts."""
    rows = session.execute(select(Host.id, Host.name).where(Host.id.in_(host_ids)))
    return {row.id: row.name for row in rows}


def list_ready_profiles(session: Session, run_ids: Iterable[UUID], kind: str) -> Sequence[Profile]:
    """List the ready profiles of a kind, the lightest first."""
    query = select(Profile).where(
        Profile.run_id.in_(list(run_ids)), Profile.kind == kind, Profile.state == "ready"
    )
    return session.scalars(query.order_by(Profile.weight)).all()
