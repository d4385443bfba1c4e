"""SELECTs of diagnoses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host


def select_diagnoses(actor: Actor, host: UUID | None = None) -> Select[Diagnosis]:
    """Return the query for diagnoses of hosts that the actor may see."""
    query = select(Diagnosis).where(Diagnosis.host_id.in_(select(Host.id).where(visible_hosts_clause(actor))))
    return query if host is None else query.where(Diagnosis.host_id == host)


def find_diagnosis(session: Session, actor: Actor, diagnosis_id: UUID) -> Diagnosis | None:
    """Return a diagnosis that the actor may see, or None."""
    return session.scalar(select_diagnoses(actor).where(Diagnosis.id == diagnosis_id))


def list_incident_diagnoses(
    session: Session, actor: Actor, incident_id: UUID, limit: int
) -> Sequence[Diagnosis]:
    """Return the newest diagnoses of an incident that the actor may see, the newest first."""
    query = select_diagnoses(actor).where(Diagnosis.incident_id == incident_id)
    return session.scalars(query.order_by(Diagnosis.number.desc()).limit(limit)).all()


def load_active_hosts(session: Session, actor: Actor, ids: Iterable[UUID]) -> dict[UUID, Host]:
    """Return the active hosts among these that the actor may see."""
    query = select(Host).where(Host.id.in_(list(ids)), Host.state == "active", visible_hosts_clause(actor))
    return {host.id: host for host in session.scalars(query)}


def load_host_names(session: Session, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return the names of hosts, including deleted ones."""
    rows = session.execute(select(Host.id, Host.name).where(Host.id.in_(list(ids))))
    return {row.id: row.name for row in rows}


def find_run_of_host(session: Session, run_id: UUID, host_id: UUID) -> Run | None:
    """Return the run if it is one of that host, or None."""
    return session.scalar(select(Run).where(Run.id == run_id, Run.host_id == host_id))


def load_runs(session: Session, capture_ids: Sequence[UUID], host_id: UUID) -> dict[UUID, Run]:
    """Return the run of the host by capture."""
    query = select(Run).where(Run.capture_id.in_(capture_ids), Run.host_id == host_id)
    return {run.capture_id: run for run in session.scalars(query)}
