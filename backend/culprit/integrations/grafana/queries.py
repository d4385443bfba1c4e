"""SELECTs of Grafana annotations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.evidence.reported_event_host import ReportedEventHost
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost

HostNames = dict[UUID, list[str]]


def select_captures(begin: datetime, end: datetime) -> Select[Any]:
    """Select the ended captures that overlap a time range."""
    return select(Capture).where(Capture.created_at <= end, Capture.ended_at >= begin)


def select_incidents(begin: datetime, end: datetime) -> Select[Any]:
    """Select the incidents whose window overlaps a time range."""
    until = func.coalesce(Incident.window_to, Incident.resolved_at, end)
    return select(Incident).where(Incident.window_from <= end, until >= begin)


def select_events(from_ms: int, to_ms: int) -> Select[Any]:
    """Select the reported events in a time range, in milliseconds since 1970."""
    return select(ReportedEvent).where(
        ReportedEvent.build_range_condition(from_ms * 10**6, to_ms * 10**6 + 1)
    )


def load_capture_hosts(session: Session, actor: Actor | None, ids: Collection[UUID]) -> HostNames:
    """Return the names of the visible hosts of captures; `actor` None sees all."""
    query = select(Run.capture_id, Host.name).join(Host, Host.id == Run.host_id)
    return _load_host_names(session, actor, query.where(Run.capture_id.in_(ids)))


def load_incident_hosts(session: Session, actor: Actor | None, ids: Collection[UUID]) -> HostNames:
    """Return the names of the visible hosts of incidents; `actor` None sees all."""
    query = select(IncidentHost.incident_id, Host.name).join(Host, Host.id == IncidentHost.host_id)
    return _load_host_names(session, actor, query.where(IncidentHost.incident_id.in_(ids)))


def load_event_hosts(session: Session, actor: Actor | None, ids: Collection[UUID]) -> HostNames:
    """Return the names of the visible hosts of reported events; `actor` None sees all."""
    query = select(ReportedEventHost.reported_event_id, Host.name).join(
        Host, Host.id == ReportedEventHost.host_id
    )
    return _load_host_names(session, actor, query.where(ReportedEventHost.reported_event_id.in_(ids)))


def list_causes(session: Session, incident_ids: Collection[UUID]) -> Sequence[Hypothesis]:
    """Return the likely and confirmed causes of incidents."""
    query = select(Hypothesis).where(
        Hypothesis.incident_id.in_(incident_ids), Hypothesis.state.in_(("likely", "confirmed"))
    )
    return session.scalars(query.order_by(Hypothesis.id)).all()


def list_applied_fixes(session: Session, incident_ids: Collection[UUID]) -> Sequence[Fix]:
    """Return the applied fixes of incidents."""
    query = select(Fix).where(Fix.incident_id.in_(incident_ids), Fix.applied_at.is_not(None))
    return session.scalars(query.order_by(Fix.id)).all()


def _load_host_names(session: Session, actor: Actor | None, query: Select[UUID, str]) -> HostNames:
    if actor is not None:
        query = query.where(visible_hosts_clause(actor))
    hosts: HostNames = defaultdict(list)
    for key, name in session.execute(query.order_by(Host.name)):
        hosts[key].append(name)
    return hosts
