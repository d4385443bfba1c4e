"""Queries about mutes and cause outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.incidents.records.queries import Rows
from culprit.infra.models.analysis.cause_outcome import CauseOutcome
from culprit.infra.models.analysis.finding_mute import FindingMute
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost


def list_mutes(session: Session, actor: Actor, host: UUID | None, at: datetime | None) -> Rows:
    """List (mute, host name) on visible hosts; `at`: only mutes that are active then."""
    query = (
        select(FindingMute, Host.name)
        .join(Host, Host.id == FindingMute.host_id)
        .where(visible_hosts_clause(actor))
    )
    if host is not None:
        query = query.where(FindingMute.host_id == host)
    if at is not None:
        query = query.where(FindingMute.expires_at > at)
    return session.execute(query.order_by(FindingMute.expires_at, FindingMute.id).limit(1000)).all()


def find_mute(session: Session, actor: Actor, mute_id: UUID) -> FindingMute | None:
    """Return a mute on a visible host, or None."""
    query = select(FindingMute).join(Host, Host.id == FindingMute.host_id)
    return session.scalar(query.where(FindingMute.id == mute_id, visible_hosts_clause(actor)))


def list_active_mutes(session: Session, host_id: UUID, rule: str, at: datetime) -> Sequence[FindingMute]:
    """List the mutes of a rule on a host that are active at a time."""
    query = select(FindingMute).where(FindingMute.host_id == host_id, FindingMute.rule == rule)
    return session.scalars(query.where(FindingMute.expires_at > at)).all()


def lock_open_incidents(session: Session, host_id: UUID) -> Sequence[Incident]:
    """Lock the unresolved incidents of a host in the order of their IDs."""
    mine = select(IncidentHost.incident_id).where(IncidentHost.host_id == host_id)
    query = (
        select(Incident)
        .where(Incident.id.in_(mine), Incident.state != "resolved")
        .order_by(Incident.id)
        .with_for_update(of=Incident, key_share=True)
        .execution_options(populate_existing=True)
    )
    return session.scalars(query).all()


def count_outcomes(session: Session) -> Rows:
    """List (cause, right, true_cause, count)."""
    query = select(
        CauseOutcome.cause, CauseOutcome.right, CauseOutcome.true_cause, func.count().label("count")
    ).group_by(CauseOutcome.cause, CauseOutcome.right, CauseOutcome.true_cause)
    return session.execute(query.order_by(CauseOutcome.cause)).all()
