"""Every SELECT about mutes, and about how causes turned out over all incidents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.incidents.queries import Rows
from culprit.models import CauseOutcome, FindingMute, Host, Incident, IncidentHost


def mutes(session: Session, actor: Actor, host: UUID | None, at: datetime | None) -> Rows:
    """(mute, name of its host) on hosts that exist for this actor; `at`: those that hold then."""
    query = select(FindingMute, Host.name).join(Host, Host.id == FindingMute.host_id).where(visible(actor))
    if host is not None:
        query = query.where(FindingMute.host_id == host)
    if at is not None:
        query = query.where(FindingMute.expires_at > at)
    return session.execute(query.order_by(FindingMute.expires_at, FindingMute.id).limit(1000)).all()


def mute(session: Session, actor: Actor, mute_id: UUID) -> FindingMute | None:
    """One mute on a host that exists for this actor."""
    query = select(FindingMute).join(Host, Host.id == FindingMute.host_id)
    return session.scalar(query.where(FindingMute.id == mute_id, visible(actor)))


def held(session: Session, host_id: UUID, rule: str, at: datetime) -> Sequence[FindingMute]:
    """The mutes of a rule on a host that hold then."""
    query = select(FindingMute).where(FindingMute.host_id == host_id, FindingMute.rule == rule)
    return session.scalars(query.where(FindingMute.expires_at > at)).all()


def open_incidents(session: Session, host_id: UUID) -> Sequence[Incident]:
    """The incidents of a host that are not resolved, locked one after another."""
    mine = select(IncidentHost.incident_id).where(IncidentHost.host_id == host_id)
    query = (
        select(Incident)
        .where(Incident.id.in_(mine), Incident.state != "resolved")
        .order_by(Incident.id)
        .with_for_update(of=Incident, key_share=True)
        .execution_options(populate_existing=True)
    )
    return session.scalars(query).all()


def outcome_counts(session: Session) -> Rows:
    """(cause, right, true_cause, how often)."""
    query = select(
        CauseOutcome.cause, CauseOutcome.right, CauseOutcome.true_cause, func.count().label("count")
    ).group_by(CauseOutcome.cause, CauseOutcome.right, CauseOutcome.true_cause)
    return session.execute(query.order_by(CauseOutcome.cause)).all()
