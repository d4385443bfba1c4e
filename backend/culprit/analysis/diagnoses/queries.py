"""Every SELECT about diagnoses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.models import Diagnosis, Host, Run


def diagnoses(actor: Actor, host: UUID | None = None) -> Select[Diagnosis]:
    """The diagnoses of hosts that exist for this actor."""
    query = select(Diagnosis).where(Diagnosis.host_id.in_(select(Host.id).where(visible(actor))))
    return query if host is None else query.where(Diagnosis.host_id == host)


def diagnosis(session: Session, actor: Actor, diagnosis_id: UUID) -> Diagnosis | None:
    """One, where it exists for this actor."""
    return session.scalar(diagnoses(actor).where(Diagnosis.id == diagnosis_id))


def hosts(session: Session, actor: Actor, ids: Iterable[UUID]) -> dict[UUID, Host]:
    """The active hosts among these that exist for this actor."""
    query = select(Host).where(Host.id.in_(list(ids)), Host.state == "active", visible(actor))
    return {host.id: host for host in session.scalars(query)}


def names(session: Session, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Names of hosts, whatever their state."""
    rows = session.execute(select(Host.id, Host.name).where(Host.id.in_(list(ids))))
    return {row.id: row.name for row in rows}


def run_of_host(session: Session, run_id: UUID, host_id: UUID) -> Run | None:
    """A run, where it is one of that host."""
    return session.scalar(select(Run).where(Run.id == run_id, Run.host_id == host_id))


def runs(session: Session, capture_ids: Sequence[UUID], host_id: UUID) -> dict[UUID, Run]:
    """The run of the host by capture."""
    query = select(Run).where(Run.capture_id.in_(capture_ids), Run.host_id == host_id)
    return {run.capture_id: run for run in session.scalars(query)}
