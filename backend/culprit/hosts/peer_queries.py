"""Hosts that do the same: those of a service, else those with the same labels of what they are for.

What is started without a person takes only a part of such a group at a time, so that it never slows a whole tier.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, literal, select
from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import tier_of
from collectors.registry import COLLECTORS
from culprit.auth.automation import AUTOMATIC
from culprit.core.alerts.places import MOST, cap
from culprit.core.outcomes import RUN_FINAL
from culprit.core.rules.peers import ROLE_LABELS
from culprit.models import Capture, Diagnosis, Host, Run, Service


def service_of(session: Session, host: Host) -> Service | None:
    """The declared service that runs on the host: of several, the one that names most labels."""
    query = select(Service).where(literal(host.labels, Host.labels.type).contains(Service.selector))
    found = session.scalars(query).all()
    return min(found, key=lambda one: (-len(one.selector), one.name), default=None)


def alike(session: Session, host: Host) -> ColumnElement[bool]:
    """The active hosts that do the same as this one, itself among them, as a condition on Host."""
    same = {name: host.labels[name] for name in ROLE_LABELS if name in host.labels}
    service = service_of(session, host)
    wanted = {**same, **(service.selector if service else {})}
    if not wanted:
        return Host.id == host.id
    return and_(Host.state == "active", Host.labels.contains(wanted))


def busy(session: Session, hosts: ColumnElement[bool], tier: Tier) -> set[UUID]:
    """The hosts of a condition on which something runs, or waits to, that nobody stands behind, of that tier or above.

    At the light tier, the twins that run along do not count as suspects.
    """
    query = (
        select(Run.host_id, Capture.collectors, Diagnosis.host_id.label("suspect"))
        .join(Capture, Capture.id == Run.capture_id)
        .outerjoin(Diagnosis, Diagnosis.id == Capture.diagnosis_id)
        .where(
            Capture.source.in_(AUTOMATIC),
            Run.state.not_in(RUN_FINAL),
            Run.host_id.in_(select(Host.id).where(hosts)),
        )
    )
    ranks = list(Tier)
    return {
        row.host_id
        for row in session.execute(query)
        if row.suspect in {None, row.host_id}
        and ranks.index(tier_of(one["id"] for one in row.collectors if one["id"] in COLLECTORS))
        >= ranks.index(tier)
    }


def touched(session: Session, hosts: ColumnElement[bool]) -> int:
    """On how many hosts of a condition anything runs, or waits to, that nobody stands behind, twins included."""
    query = (
        select(func.count(Run.host_id.distinct()))
        .join(Capture, Capture.id == Run.capture_id)
        .where(
            Capture.source.in_(AUTOMATIC),
            Run.state.not_in(RUN_FINAL),
            Run.host_id.in_(select(Host.id).where(hosts)),
        )
    )
    return session.scalar(query) or 0


def room_for(session: Session, host: Host, tier: Tier) -> bool:
    """Whether one more host of its group may be captured now, at that tier, without a person."""
    group = alike(session, host)
    size = session.scalar(select(func.count()).select_from(Host).where(group)) or 1
    return len(busy(session, group, tier) - {host.id}) < cap(tier, size)


def room_for_twins(session: Session, host: Host) -> int:
    """How many healthy hosts may run along with one of its group."""
    return max(0, MOST["light"] - 1 - touched(session, alike(session, host)))
