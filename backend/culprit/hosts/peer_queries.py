"""SELECTs of peer groups: hosts of the same service, otherwise those with the same role labels."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, literal, select
from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import highest_tier
from collectors.registry import COLLECTORS
from culprit.accounts.unattended_tiers import UNATTENDED_SOURCES
from culprit.domain.rules.peers import ROLE_LABELS
from culprit.domain.runs.states import RUN_FINAL
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.service import Service


def find_declared_service(session: Session, host: Host) -> Service | None:
    """Return the declared service of a host: the most specific of several."""
    query = select(Service).where(literal(host.labels, Host.labels.type).contains(Service.selector))
    services = session.scalars(query).all()
    return min(services, key=lambda item: (-len(item.selector), item.name), default=None)


def peers_condition(session: Session, host: Host) -> ColumnElement[bool]:
    """Return the condition for active hosts of the same group, including this one."""
    role_labels = {name: host.labels[name] for name in ROLE_LABELS if name in host.labels}
    service = find_declared_service(session, host)
    group_labels = {**role_labels, **(service.selector if service else {})}
    if not group_labels:
        return Host.id == host.id
    return and_(Host.state == "active", Host.labels.contains(group_labels))


def list_hosts_with_unattended_runs(session: Session, hosts: ColumnElement[bool], tier: Tier) -> set[UUID]:
    """Return the hosts of a condition with an unfinished unattended run of that tier or above.

    At the light tier, captured peers do not count.
    """
    query = (
        select(Run.host_id, Capture.collectors, Diagnosis.host_id.label("suspect"))
        .join(Capture, Capture.id == Run.capture_id)
        .outerjoin(Diagnosis, Diagnosis.id == Capture.diagnosis_id)
        .where(
            Capture.source.in_(UNATTENDED_SOURCES),
            Run.state.not_in(RUN_FINAL),
            Run.host_id.in_(select(Host.id).where(hosts)),
        )
    )
    ranks = list(Tier)
    return {
        row.host_id
        for row in session.execute(query)
        if row.suspect in {None, row.host_id}
        and ranks.index(
            highest_tier(collector["id"] for collector in row.collectors if collector["id"] in COLLECTORS)
        )
        >= ranks.index(tier)
    }


def count_affected_hosts(session: Session, hosts: ColumnElement[bool]) -> int:
    """Return how many hosts of a condition have an unfinished unattended run, including peers."""
    query = (
        select(func.count(Run.host_id.distinct()))
        .join(Capture, Capture.id == Run.capture_id)
        .where(
            Capture.source.in_(UNATTENDED_SOURCES),
            Run.state.not_in(RUN_FINAL),
            Run.host_id.in_(select(Host.id).where(hosts)),
        )
    )
    return session.scalar(query) or 0


def count_group_hosts(session: Session, hosts: ColumnElement[bool]) -> int:
    """Return how many hosts match a condition."""
    return session.scalar(select(func.count()).select_from(Host).where(hosts)) or 0
