"""SELECTs of watchers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost

MAX_CAPTURES = 500


def select_watchers(
    actor: Actor, *, kind: str | None = None, host_id: UUID | None = None, include_ended: bool = False
) -> Select[Watcher]:
    """Select the watchers on hosts that are visible to the actor."""
    query = select(Watcher).where(Watcher.host_id.in_(select(Host.id).where(visible_hosts_clause(actor))))
    if not include_ended:
        query = query.where(Watcher.ended_at.is_(None))
    if kind is not None:
        query = query.where(Watcher.kind == kind)
    return query if host_id is None else query.where(Watcher.host_id == host_id)


def find_watcher(session: Session, actor: Actor, watcher_id: UUID, *, lock: bool = False) -> Watcher | None:
    """Return one watcher that is visible to the actor."""
    query = select_watchers(actor, include_ended=True).where(Watcher.id == watcher_id)
    return session.scalar(query.with_for_update(of=Watcher) if lock else query)


def lock_open_watchers(session: Session, hosts: ColumnElement[bool]) -> list[Watcher]:
    """Lock the watchers that have not ended on the hosts of a condition, in ID order."""
    query = (
        select(Watcher)
        .where(Watcher.ended_at.is_(None), Watcher.host_id.in_(select(Host.id).where(hosts)))
        .order_by(Watcher.id)
        .with_for_update(of=Watcher)
        .execution_options(populate_existing=True)
    )
    return list(session.scalars(query))


def find_active_host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """Return an active host that is visible to the actor."""
    return session.scalar(
        select(Host).where(Host.id == host_id, Host.state == "active", visible_hosts_clause(actor))
    )


def list_started_captures(session: Session, watcher_ids: Iterable[UUID]) -> dict[UUID, list[Capture]]:
    """Return the captures that each watcher started, newest first."""
    query = select(Capture).where(Capture.watcher_id.in_(list(watcher_ids))).order_by(Capture.id.desc())
    captures: dict[UUID, list[Capture]] = {}
    for capture in session.scalars(query.limit(MAX_CAPTURES)):
        if capture.watcher_id is not None:
            captures.setdefault(capture.watcher_id, []).append(capture)
    return captures


def list_run_ids(session: Session, capture_id: UUID) -> Sequence[UUID]:
    """Return the IDs of the runs of a capture."""
    return session.scalars(select(Run.id).where(Run.capture_id == capture_id)).all()


def is_incident_host(session: Session, incident_id: UUID, host_id: UUID) -> bool:
    """Return whether a host is part of an incident."""
    return session.get(IncidentHost, (incident_id, host_id)) is not None


def load_incident_numbers(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, int]:
    """Return incident numbers by ID. A user who can see a host can see its incidents."""
    incident_ids = [incident_id for incident_id in ids if incident_id]
    rows = session.execute(select(Incident.id, Incident.number).where(Incident.id.in_(incident_ids)))
    return {row.id: row.number for row in rows}


def load_user_names(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Return account names by ID."""
    user_ids = [user_id for user_id in ids if user_id]
    rows = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(user_ids)))
    return {row.id: row.name for row in rows}
