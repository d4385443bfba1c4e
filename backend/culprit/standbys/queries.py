"""Every SELECT about standbys."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.models import Capture, Host, Incident, IncidentHost, Standby, UserAccount

MAX_SHOWN = 500


def standbys(
    actor: Actor, *, kind: str | None = None, host: UUID | None = None, over: bool = False
) -> Select[Standby]:
    """What waits on a host that exists for this actor; with `over` also what does not any more."""
    query = select(Standby).where(Standby.host_id.in_(select(Host.id).where(visible(actor))))
    if not over:
        query = query.where(Standby.ended_at.is_(None))
    if kind is not None:
        query = query.where(Standby.kind == kind)
    return query if host is None else query.where(Standby.host_id == host)


def one(session: Session, actor: Actor, standby_id: UUID, *, lock: bool = False) -> Standby | None:
    """One, where it exists for this actor."""
    query = standbys(actor, over=True).where(Standby.id == standby_id)
    return session.scalar(query.with_for_update(of=Standby) if lock else query)


def open_of(session: Session, host_id: UUID, kind: str) -> Standby | None:
    """What of that kind waits on the host."""
    query = select(Standby).where(
        Standby.host_id == host_id, Standby.kind == kind, Standby.ended_at.is_(None)
    )
    return session.scalar(query)


def open_on(session: Session, hosts: ColumnElement[bool]) -> list[Standby]:
    """What waits on the hosts of a condition, locked in its order."""
    query = (
        select(Standby)
        .where(Standby.ended_at.is_(None), Standby.host_id.in_(select(Host.id).where(hosts)))
        .order_by(Standby.id)
        .with_for_update(of=Standby)
        .execution_options(populate_existing=True)
    )
    return list(session.scalars(query))


def host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """An active host that exists for this actor."""
    return session.scalar(select(Host).where(Host.id == host_id, Host.state == "active", visible(actor)))


def started(session: Session, ids: Iterable[UUID]) -> dict[UUID, list[Capture]]:
    """The captures that standbys have started, the newest first."""
    query = select(Capture).where(Capture.standby_id.in_(list(ids))).order_by(Capture.id.desc())
    found: dict[UUID, list[Capture]] = {}
    for capture in session.scalars(query.limit(MAX_SHOWN)):
        if capture.standby_id is not None:
            found.setdefault(capture.standby_id, []).append(capture)
    return found


def concerns(session: Session, incident_id: UUID, host_id: UUID) -> bool:
    """Whether a host is part of an incident."""
    return session.get(IncidentHost, (incident_id, host_id)) is not None


def incidents(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, int]:
    """The numbers of incidents. Who sees a host sees the incidents that it is part of."""
    wanted = [incident for incident in ids if incident]
    rows = session.execute(select(Incident.id, Incident.number).where(Incident.id.in_(wanted)))
    return {row.id: row.number for row in rows}


def people(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Names of people."""
    wanted = [person for person in ids if person]
    rows = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(wanted)))
    return {row.id: row.name for row in rows}
