"""Every SELECT about triggers and alerts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, true
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible
from culprit.core.alerts.places import short
from culprit.core.outcomes import RUN_FINAL
from culprit.models import (
    Alert,
    Channel,
    Diagnosis,
    Evaluation,
    Firing,
    Host,
    Incident,
    Run,
    Service,
    TierAllowance,
    Trigger,
    UserAccount,
)

MAX_CANDIDATES = 200
#: The journal of an incident tells of so many different alerts of one host; all of them stand in the list of alerts.
MAX_NEWS = 20
DAY = timedelta(hours=24)


def triggers(actor: Actor) -> Select[Trigger]:
    """Those that exist for this actor: somebody of a narrower scope knows their own."""
    query = select(Trigger)
    return query if actor.unrestricted else query.where(Trigger.owner_id == actor.id)


def trigger(session: Session, actor: Actor, trigger_id: UUID) -> Trigger | None:
    """One, where it exists for this actor, locked."""
    return session.scalar(triggers(actor).where(Trigger.id == trigger_id).with_for_update(of=Trigger))


def alerts(
    actor: Actor, *, state: str | None = None, trigger_id: UUID | None = None, host_id: UUID | None = None
) -> Select[Alert]:
    """The alerts that exist for this actor: on a visible host, or without one to a visible trigger."""
    query = select(Alert).where(_seen(actor))
    if state is not None:
        query = query.where(Alert.state == state)
    if trigger_id is not None:
        query = query.where(Alert.trigger_id == trigger_id)
    return query if host_id is None else query.where(Alert.host_id == host_id)


def _seen(actor: Actor) -> ColumnElement[bool]:
    if actor.unrestricted:
        return true()
    own = select(Trigger.id).where(Trigger.owner_id == actor.id)
    return or_(
        Alert.host_id.in_(select(Host.id).where(visible(actor))),
        and_(Alert.host_id.is_(None), Alert.trigger_id.in_(own)),
    )


def counts(session: Session, ids: Collection[UUID], since: datetime) -> dict[UUID, dict[str, int]]:
    """Alerts by trigger and state that were sent since then."""
    query = (
        select(Alert.trigger_id, Alert.state, func.sum(Alert.count))
        .where(Alert.trigger_id.in_(ids), Alert.last_at > since)
        .group_by(Alert.trigger_id, Alert.state)
    )
    found: dict[UUID, dict[str, int]] = {}
    for trigger_id, state, count in session.execute(query):
        found.setdefault(trigger_id, {})[state] = int(count)
    return found


def channels(session: Session, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Names of channels."""
    rows = session.execute(
        select(Channel.id, Channel.name).where(Channel.id.in_(list(ids)), Channel.kind != "grafana")
    )
    return {row.id: row.name for row in rows}


def people(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Names of people."""
    wanted = [one for one in ids if one]
    rows = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(wanted)))
    return {row.id: row.name for row in rows}


def hosts_called(session: Session, actor: Actor, names: Sequence[str]) -> list[Host]:
    """The active visible hosts that one of these names may mean."""
    if not names:
        return []
    heads = list({short(one) for one in names})
    name = func.lower(Host.name)
    query = select(Host).where(
        Host.state == "active",
        visible(actor),
        or_(name.in_(names), func.lower(Host.address).in_(names), func.split_part(name, ".", 1).in_(heads)),
    )
    return list(session.scalars(query.order_by(Host.name).limit(MAX_CANDIDATES)))


def services_called(session: Session, names: Sequence[str]) -> dict[str, Service]:
    """The declared services with one of these names."""
    if not names:
        return {}
    found = session.scalars(select(Service).where(func.lower(Service.name).in_([n.lower() for n in names])))
    return {one.name.lower(): one for one in found}


def hosts_of(session: Session, actor: Actor, service: Service) -> list[Host]:
    """The active visible hosts on which a service runs, by name."""
    query = select(Host).where(Host.state == "active", visible(actor), Host.labels.contains(service.selector))
    return list(session.scalars(query.order_by(Host.name).limit(MAX_CANDIDATES)))


def twins(session: Session, actor: Actor, host: Host, alike: ColumnElement[bool]) -> list[Host]:
    """The visible hosts of the same kind on which nothing runs and of which nothing is alerted, by name."""
    alerted = exists().where(
        Alert.host_id == Host.id, Alert.resolved_at.is_(None), Alert.last_at > func.now() - DAY
    )
    working = exists().where(Run.host_id == Host.id, Run.state.not_in(RUN_FINAL))
    query = select(Host).where(
        alike, Host.id != host.id, Host.state == "active", visible(actor), ~alerted, ~working
    )
    return list(session.scalars(query.order_by(Host.name).limit(MAX_CANDIDATES)))


def sickness(session: Session, ids: Collection[UUID]) -> dict[UUID, bool]:
    """Of hosts that were ever looked at: whether a likely cause was named at the last look."""
    query = (
        select(Run.host_id, Evaluation.ranking)
        .join(Evaluation, Evaluation.run_id == Run.id)
        .where(Run.host_id.in_(ids))
        .ext(distinct_on(Run.host_id))
        .order_by(Run.host_id, Run.id.desc())
    )
    return {
        row.host_id: any(one.get("confidence") == "likely" for one in (row.ranking or {}).get("causes", ()))
        for row in session.execute(query)
    }


def latest(session: Session, trigger_id: UUID, fingerprint: str, since: datetime) -> Alert | None:
    """The alert with that fingerprint that was last sent after `since` and is not over."""
    query = (
        select(Alert)
        .where(
            Alert.trigger_id == trigger_id,
            Alert.fingerprint == fingerprint,
            Alert.resolved_at.is_(None),
            Alert.last_at > since,
        )
        .order_by(Alert.last_at.desc())
        .limit(1)
    )
    return session.scalar(query)


def fired(session: Session, host_id: UUID, cause: str, since: datetime) -> Firing | None:
    """The last thing that was started on the host for that cause."""
    query = select(Firing).where(Firing.host_id == host_id, Firing.cause == cause, Firing.created_at > since)
    return session.scalar(query.order_by(Firing.created_at.desc()).limit(1))


def lately(session: Session, host_id: UUID, since: datetime) -> Firing | None:
    """What was started on the host since then for whatever cause, or is not answered yet."""
    running = exists().where(Diagnosis.id == Firing.diagnosis_id, Diagnosis.state == "running")
    query = select(Firing).where(Firing.host_id == host_id, or_(Firing.created_at > since, running))
    return session.scalar(query.order_by(Firing.created_at.desc()).limit(1))


def open_incident(
    session: Session, *, host_id: UUID, service: str, group: tuple[UUID, str] | None, since: datetime
) -> Incident | None:
    """The unresolved incident to which an alert about the same host, service or group belongs, locked."""
    same: list[ColumnElement[bool]] = [Alert.host_id == host_id]
    if service:
        same.append(Alert.service == service)
    if group is not None and group[1]:
        same.append(and_(Alert.trigger_id == group[0], Alert.group == group[1]))
    theirs = select(Alert.incident_id).where(
        or_(*same), Alert.last_at > since, Alert.incident_id.is_not(None)
    )
    query = select(Incident).where(Incident.state != "resolved", Incident.id.in_(theirs))
    return session.scalar(
        query.order_by(Incident.number.desc()).limit(1).with_for_update(of=Incident, key_share=True)
    )


def news(session: Session, incident_id: UUID, host_id: UUID, cause: str) -> bool:
    """Whether that was not alerted of the host in this incident before; of very many different things, the first."""
    of_host = (
        select(func.count())
        .select_from(Alert)
        .where(Alert.incident_id == incident_id, Alert.host_id == host_id)
    )
    same = session.scalar(of_host.where(Alert.cause == cause)) or 0
    return not same and (session.scalar(of_host) or 0) < MAX_NEWS


def firings(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, Firing]:
    """Firings by id."""
    rows = session.scalars(select(Firing).where(Firing.id.in_([one for one in ids if one])))
    return {row.id: row for row in rows}


def hosts(session: Session, actor: Actor, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Names of the hosts that exist for this actor."""
    rows = session.execute(
        select(Host.id, Host.name).where(Host.id.in_([one for one in ids if one]), visible(actor))
    )
    return {row.id: row.name for row in rows}


def incident_numbers(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, int]:
    """Numbers of incidents."""
    rows = session.execute(select(Incident.id, Incident.number).where(Incident.id.in_([i for i in ids if i])))
    return {row.id: row.number for row in rows}


def trigger_names(session: Session, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Names of triggers."""
    rows = session.execute(select(Trigger.id, Trigger.name).where(Trigger.id.in_(list(ids))))
    return {row.id: row.name for row in rows}


def allowances(session: Session) -> Sequence[TierAllowance]:
    """All labels for which more than the light tier is allowed."""
    return session.scalars(
        select(TierAllowance).order_by(TierAllowance.label_name, TierAllowance.label_value)
    ).all()
