"""Every SELECT about reports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, false, func, or_, select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.incidents.queries import visible_incidents
from culprit.incidents.schemas import IncidentRead
from culprit.kit.clock import now, to_ns
from culprit.models import (
    Annotation,
    Host,
    Incident,
    Report,
    ReportShare,
    ReportVersion,
    ReportVisit,
    UserAccount,
)

DAY = timedelta(days=1)
MOST_TOLD = 100
MOST_VISITS = 1000
MOST_NAMES = 20_000


def reports(session: Session, incident_id: UUID) -> Sequence[Report]:
    """The reports of an incident, the newest first."""
    query = select(Report).where(Report.incident_id == incident_id).order_by(Report.id.desc())
    return session.scalars(query).all()


def report(session: Session, actor: Actor, report_id: UUID, *, lock: bool = False) -> Report | None:
    """One, where its incident exists for this actor."""
    query = (
        select(Report)
        .join(Incident, Incident.id == Report.incident_id)
        .where(Report.id == report_id, visible_incidents(actor))
    )
    if lock:
        query = query.with_for_update(of=Report).execution_options(populate_existing=True)
    return session.scalar(query)


def told(session: Session, whole: IncidentRead) -> list[tuple[Annotation, str]]:
    """What was told of the hosts of an incident while it went on and in the day before it, each with the account."""
    end = whole.window.to or whole.resolved_at or now()
    query = (
        select(Annotation, UserAccount.name)
        .join(UserAccount, UserAccount.id == Annotation.told_by)
        .where(
            or_(*(Annotation.about(one.id) for one in whole.hosts)) if whole.hosts else false(),
            Annotation.within(to_ns(whole.window.from_ - DAY), to_ns(end) + 1),
        )
        .order_by(Annotation.t_ns.desc())
        .limit(MOST_TOLD)
    )
    return [(row[0], row[1]) for row in session.execute(query)]


def versions(session: Session, actor: Actor, report_id: UUID) -> list[ReportVersion]:
    """The frozen versions that exist for this actor, the newest first."""
    query = select(ReportVersion).where(ReportVersion.report_id == report_id)
    found = session.scalars(query.order_by(ReportVersion.number.desc())).all()
    return [one for one in found if _all_seen(session, actor, one.hosts)]


def version(session: Session, actor: Actor, version_id: UUID, *, lock: bool = False) -> ReportVersion | None:
    """One frozen version, where its incident and all hosts that it tells of exist for this actor."""
    query = (
        select(ReportVersion)
        .join(Report, Report.id == ReportVersion.report_id)
        .join(Incident, Incident.id == Report.incident_id)
        .where(ReportVersion.id == version_id, visible_incidents(actor))
    )
    if lock:
        query = query.with_for_update(of=ReportVersion).execution_options(populate_existing=True)
    found = session.scalar(query)
    return found if found is not None and _all_seen(session, actor, found.hosts) else None


def _all_seen(session: Session, actor: Actor, hosts: Collection[str]) -> bool:
    if actor.unrestricted or not hosts:
        return True
    wanted = {UUID(one) for one in hosts}
    found = session.scalars(select(Host.id).where(Host.id.in_(wanted), visible(actor))).all()
    return len(found) == len(wanted)


def newest(session: Session, report_id: UUID) -> ReportVersion | None:
    """The last version that was frozen."""
    query = select(ReportVersion).where(ReportVersion.report_id == report_id)
    return session.scalar(query.order_by(ReportVersion.number.desc()).limit(1))


def shares(session: Session, version_ids: Collection[UUID]) -> Sequence[ReportShare]:
    """The links to versions, the newest first."""
    query = select(ReportShare).where(ReportShare.version_id.in_(version_ids))
    return session.scalars(query.order_by(ReportShare.id.desc())).all()


def share(session: Session, share_id: UUID, *, lock: bool = False) -> ReportShare | None:
    """One link."""
    query = select(ReportShare).where(ReportShare.id == share_id)
    return session.scalar(query.with_for_update() if lock else query)


def open_share(session: Session, token_hash: bytes) -> tuple[ReportShare, ReportVersion] | None:
    """What a token opens now; revoked and expired links open nothing."""
    row = session.execute(
        select(ReportShare, ReportVersion)
        .join(ReportVersion, ReportVersion.id == ReportShare.version_id)
        .where(
            ReportShare.token_hash == token_hash,
            ReportShare.revoked_at.is_(None),
            ReportShare.expires_at > now(),
        )
    ).first()
    return (row[0], row[1]) if row is not None else None


def visit_counts(session: Session, share_ids: Collection[UUID]) -> dict[UUID, int]:
    """How often each link was opened."""
    query = select(ReportVisit.share_id, func.count()).where(ReportVisit.share_id.in_(share_ids))
    return {row[0]: row[1] for row in session.execute(query.group_by(ReportVisit.share_id))}


def visits(session: Session, share_id: UUID) -> Sequence[ReportVisit]:
    """Who opened a link, the newest first."""
    query = select(ReportVisit).where(ReportVisit.share_id == share_id).order_by(ReportVisit.id.desc())
    return session.scalars(query.limit(MOST_VISITS)).all()


def known_names(session: Session) -> tuple[frozenset[str], frozenset[str]]:
    """(names and addresses of all hosts, names of all people and of accounts on hosts), visible to whomever or not."""
    hosts: Sequence[Row[*tuple[Any, ...]]] = session.execute(
        select(Host.name, Host.address, Host.username).limit(MOST_NAMES)
    ).all()
    people = session.scalars(select(UserAccount.name).limit(MOST_NAMES)).all()
    return (
        frozenset(name for row in hosts for name in (row.name, row.address) if name),
        frozenset({*people, *(row.username for row in hosts if row.username)}),
    )
