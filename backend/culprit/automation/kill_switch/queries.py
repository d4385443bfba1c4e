"""SELECTs of kill switches."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Text, and_, exists, or_, select, true
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.automation.kill_switch import KillSwitch
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost

MAX_ROWS = 200


def select_switches(actor: Actor, *, include_inactive: bool = False) -> Select[KillSwitch]:
    """Select the switches that concern a visible host, newest first."""
    query = select(KillSwitch).where(_visible_switches_clause(actor)).order_by(KillSwitch.created_at.desc())
    return (query if include_inactive else query.where(KillSwitch.deactivated_at.is_(None))).limit(MAX_ROWS)


def _visible_switches_clause(actor: Actor) -> ColumnElement[bool]:
    if actor.unrestricted:
        return true()
    labelled = exists().where(
        visible_hosts_clause(actor),
        Host.labels.op("->>", return_type=Text())(KillSwitch.label_name) == KillSwitch.label_value,
    )
    return or_(
        KillSwitch.kind == "everywhere",
        KillSwitch.host_id.in_(select(Host.id).where(visible_hosts_clause(actor))),
        and_(KillSwitch.kind == "label", labelled),
    )


def affected_hosts_clause(switch: KillSwitch) -> ColumnElement[bool]:
    """Return the condition for the hosts of a switch."""
    if switch.kind == "host":
        return or_(Host.id == switch.host_id, Host.jump_host_id == switch.host_id)
    if switch.kind == "label":
        labelled: ColumnElement[bool] = Host.labels[switch.label_name].astext == switch.label_value
        return labelled
    return true()


def lock_active_switch(session: Session, place: str) -> KillSwitch | None:
    """Return the active switch of this place, locked, or None."""
    query = select(KillSwitch).where(KillSwitch.place == place, KillSwitch.deactivated_at.is_(None))
    return session.scalar(query.with_for_update())


def lock_switch(session: Session, actor: Actor, switch_id: UUID) -> KillSwitch | None:
    """Return a visible switch, locked, or None."""
    query = select(KillSwitch).where(KillSwitch.id == switch_id, _visible_switches_clause(actor))
    return session.scalar(query.with_for_update())


def lock_affected_incidents(session: Session, switch: KillSwitch) -> list[Incident]:
    """Return the open incidents with a host of the switch, locked in ID order."""
    theirs = (
        select(IncidentHost.incident_id)
        .join(Host, Host.id == IncidentHost.host_id)
        .where(affected_hosts_clause(switch))
    )
    query = (
        select(Incident)
        .where(Incident.state != "resolved", Incident.id.in_(theirs))
        .order_by(Incident.id)
        .limit(MAX_ROWS)
        .with_for_update(of=Incident, key_share=True)
    )
    return list(session.scalars(query))


def find_host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """Return a visible host, or None."""
    return session.scalar(select(Host).where(Host.id == host_id, visible_hosts_clause(actor)))


def load_host_names(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Return host names by ID."""
    rows = session.execute(select(Host.id, Host.name).where(Host.id.in_([item for item in ids if item])))
    return {row.id: row.name for row in rows}


def load_user_names(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Return account names by ID."""
    requested_ids = [item for item in ids if item]
    rows = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(requested_ids)))
    return {row.id: row.name for row in rows}
