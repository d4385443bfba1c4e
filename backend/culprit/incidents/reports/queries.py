"""Queries of reports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, false, func, or_, select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.incidents.records.queries import visible_incidents_clause
from culprit.incidents.responses.schemas import IncidentResponse
from culprit.infra.db.clock import to_ns, utc_now
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.reports.report import Report
from culprit.infra.models.reports.report_share import ReportShare
from culprit.infra.models.reports.report_version import ReportVersion
from culprit.infra.models.reports.report_visit import ReportVisit

DAY = timedelta(days=1)
MAX_ENTRIES = 100
MAX_VISITS = 1000
MAX_NAMES = 20_000


def list_reports(session: Session, incident_id: UUID) -> Sequence[Report]:
    """Return the reports of an incident, the newest first."""
    query = select(Report).where(Report.incident_id == incident_id).order_by(Report.id.desc())
    return session.scalars(query).all()


def find_report(session: Session, actor: Actor, report_id: UUID, *, lock: bool = False) -> Report | None:
    """Return the report if its incident is visible to the actor."""
    query = (
        select(Report)
        .join(Incident, Incident.id == Report.incident_id)
        .where(Report.id == report_id, visible_incidents_clause(actor))
    )
    if lock:
        query = query.with_for_update(of=Report).execution_options(populate_existing=True)
    return session.scalar(query)


def list_events(session: Session, whole: IncidentResponse) -> list[tuple[ReportedEvent, str]]:
    """Return reported events of the hosts of an incident, from the day before it to its end, with their accounts."""
    end = whole.window.to or whole.resolved_at or utc_now()
    query = (
        select(ReportedEvent, UserAccount.name)
        .join(UserAccount, UserAccount.id == ReportedEvent.reported_by)
        .where(
            or_(*(ReportedEvent.build_host_condition(host.id) for host in whole.hosts))
            if whole.hosts
            else false(),
            ReportedEvent.build_range_condition(to_ns(whole.window.from_ - DAY), to_ns(end) + 1),
        )
        .order_by(ReportedEvent.t_ns.desc())
        .limit(MAX_ENTRIES)
    )
    return [(row[0], row[1]) for row in session.execute(query)]


def list_versions(session: Session, actor: Actor, report_id: UUID) -> list[ReportVersion]:
    """Return the frozen versions visible to the actor, the newest first."""
    query = select(ReportVersion).where(ReportVersion.report_id == report_id)
    versions = session.scalars(query.order_by(ReportVersion.number.desc())).all()
    return [item for item in versions if _can_see_all(session, actor, item.hosts)]


def find_version(
    session: Session, actor: Actor, version_id: UUID, *, lock: bool = False
) -> ReportVersion | None:
    """Return a frozen version if its incident and all its hosts are visible to the actor."""
    query = (
        select(ReportVersion)
        .join(Report, Report.id == ReportVersion.report_id)
        .join(Incident, Incident.id == Report.incident_id)
        .where(ReportVersion.id == version_id, visible_incidents_clause(actor))
    )
    if lock:
        query = query.with_for_update(of=ReportVersion).execution_options(populate_existing=True)
    row = session.scalar(query)
    return row if row is not None and _can_see_all(session, actor, row.hosts) else None


def _can_see_all(session: Session, actor: Actor, hosts: Collection[str]) -> bool:
    if actor.unrestricted or not hosts:
        return True
    uuids = {UUID(host) for host in hosts}
    visible_ids = session.scalars(
        select(Host.id).where(Host.id.in_(uuids), visible_hosts_clause(actor))
    ).all()
    return len(visible_ids) == len(uuids)


def find_newest_versions(session: Session, report_id: UUID) -> ReportVersion | None:
    """Return the newest frozen version."""
    query = select(ReportVersion).where(ReportVersion.report_id == report_id)
    return session.scalar(query.order_by(ReportVersion.number.desc()).limit(1))


def list_shares(session: Session, version_ids: Collection[UUID]) -> Sequence[ReportShare]:
    """Return the share links of versions, the newest first."""
    query = select(ReportShare).where(ReportShare.version_id.in_(version_ids))
    return session.scalars(query.order_by(ReportShare.id.desc())).all()


def find_share(session: Session, share_id: UUID, *, lock: bool = False) -> ReportShare | None:
    """Return a share link."""
    query = select(ReportShare).where(ReportShare.id == share_id)
    return session.scalar(query.with_for_update() if lock else query)


def find_open_share(session: Session, token_hash: bytes) -> tuple[ReportShare, ReportVersion] | None:
    """Return the share link of a token if it is neither revoked nor expired."""
    row = session.execute(
        select(ReportShare, ReportVersion)
        .join(ReportVersion, ReportVersion.id == ReportShare.version_id)
        .where(
            ReportShare.token_hash == token_hash,
            ReportShare.revoked_at.is_(None),
            ReportShare.expires_at > utc_now(),
        )
    ).first()
    return (row[0], row[1]) if row is not None else None


def count_visits(session: Session, share_ids: Collection[UUID]) -> dict[UUID, int]:
    """Return the number of visits of each link."""
    query = select(ReportVisit.share_id, func.count()).where(ReportVisit.share_id.in_(share_ids))
    return {row[0]: row[1] for row in session.execute(query.group_by(ReportVisit.share_id))}


def list_visits(session: Session, share_id: UUID) -> Sequence[ReportVisit]:
    """Return the visits of a link, the newest first."""
    query = select(ReportVisit).where(ReportVisit.share_id == share_id).order_by(ReportVisit.id.desc())
    return session.scalars(query.limit(MAX_VISITS)).all()


def list_known_names(session: Session) -> tuple[frozenset[str], frozenset[str]]:
    """Return (names and addresses of all hosts, names of all people and host accounts), regardless of visibility."""
    hosts: Sequence[Row[*tuple[Any, ...]]] = session.execute(
        select(Host.name, Host.address, Host.username).limit(MAX_NAMES)
    ).all()
    people = session.scalars(select(UserAccount.name).limit(MAX_NAMES)).all()
    return (
        frozenset(name for row in hosts for name in (row.name, row.address) if name),
        frozenset({*people, *(row.username for row in hosts if row.username)}),
    )


def count_reports(session: Session, incident_id: UUID) -> int:
    """Return the number of reports of an incident."""
    return session.scalar(select(func.count()).where(Report.incident_id == incident_id)) or 0
