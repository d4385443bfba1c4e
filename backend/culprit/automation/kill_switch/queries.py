"""Every SELECT about kill switches."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Text, and_, exists, or_, select, true
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.models import Host, Incident, IncidentHost, KillSwitch, UserAccount

MAX_TOLD = 200


def switches(actor: Actor, *, lifted: bool = False) -> Select[KillSwitch]:
    """The switches that hold (or ever held) something that exists for this actor, the newest first."""
    query = select(KillSwitch).where(_seen(actor)).order_by(KillSwitch.created_at.desc())
    return (query if lifted else query.where(KillSwitch.lifted_at.is_(None))).limit(MAX_TOLD)


def _seen(actor: Actor) -> ColumnElement[bool]:
    if actor.unrestricted:
        return true()
    labelled = exists().where(
        visible(actor),
        Host.labels.op("->>", return_type=Text())(KillSwitch.label_name) == KillSwitch.label_value,
    )
    return or_(
        KillSwitch.kind == "everywhere",
        KillSwitch.host_id.in_(select(Host.id).where(visible(actor))),
        and_(KillSwitch.kind == "label", labelled),
    )


def held(switch: KillSwitch) -> ColumnElement[bool]:
    """The hosts that a switch holds, as a condition on Host."""
    if switch.kind == "host":
        return or_(Host.id == switch.host_id, Host.jump_host_id == switch.host_id)
    if switch.kind == "label":
        labelled: ColumnElement[bool] = Host.labels[switch.label_name].astext == switch.label_value
        return labelled
    return true()


def active(session: Session, place: str) -> KillSwitch | None:
    """The switch that holds that place now, locked."""
    query = select(KillSwitch).where(KillSwitch.place == place, KillSwitch.lifted_at.is_(None))
    return session.scalar(query.with_for_update())


def one(session: Session, actor: Actor, switch_id: UUID) -> KillSwitch | None:
    """One, where it exists for this actor, locked."""
    query = select(KillSwitch).where(KillSwitch.id == switch_id, _seen(actor))
    return session.scalar(query.with_for_update())


def incidents(session: Session, switch: KillSwitch) -> list[Incident]:
    """The open incidents with a host that the switch holds, locked in their order."""
    theirs = select(IncidentHost.incident_id).join(Host, Host.id == IncidentHost.host_id).where(held(switch))
    query = (
        select(Incident)
        .where(Incident.state != "resolved", Incident.id.in_(theirs))
        .order_by(Incident.id)
        .limit(MAX_TOLD)
        .with_for_update(of=Incident, key_share=True)
    )
    return list(session.scalars(query))


def host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """One visible host."""
    return session.scalar(select(Host).where(Host.id == host_id, visible(actor)))


def host_names(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Names of hosts."""
    rows = session.execute(select(Host.id, Host.name).where(Host.id.in_([one for one in ids if one])))
    return {row.id: row.name for row in rows}


def people(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Names of people."""
    wanted = [one for one in ids if one]
    rows = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(wanted)))
    return {row.id: row.name for row in rows}
