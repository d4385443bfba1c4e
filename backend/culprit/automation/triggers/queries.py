"""SELECTs of triggers and alerts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, true
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.domain.alerts.places import to_short_name
from culprit.domain.runs.states import RUN_FINAL
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.automation.trigger_response import TriggerResponseRecord
from culprit.infra.models.automation.unattended_tier import UnattendedTier
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.service import Service
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.notifications.channel import Channel

MAX_CANDIDATES = 200
#: Limit of distinct alerts of one host in the journal of an incident; the list of alerts has all.
MAX_JOURNALED_ALERTS = 20
DAY = timedelta(hours=24)


def select_triggers(actor: Actor) -> Select[Trigger]:
    """Select the visible triggers: an actor with a label scope sees their own."""
    query = select(Trigger)
    return query if actor.unrestricted else query.where(Trigger.owner_id == actor.id)


def lock_trigger(session: Session, actor: Actor, trigger_id: UUID) -> Trigger | None:
    """Return a visible trigger, locked, or None."""
    return session.scalar(select_triggers(actor).where(Trigger.id == trigger_id).with_for_update(of=Trigger))


def select_alerts(
    actor: Actor, *, state: str | None = None, trigger_id: UUID | None = None, host_id: UUID | None = None
) -> Select[Alert]:
    """Select the visible alerts: on a visible host, or without a host and of a visible trigger."""
    query = select(Alert).where(_visible_alerts(actor))
    if state is not None:
        query = query.where(Alert.state == state)
    if trigger_id is not None:
        query = query.where(Alert.trigger_id == trigger_id)
    return query if host_id is None else query.where(Alert.host_id == host_id)


def _visible_alerts(actor: Actor) -> ColumnElement[bool]:
    if actor.unrestricted:
        return true()
    own = select(Trigger.id).where(Trigger.owner_id == actor.id)
    return or_(
        Alert.host_id.in_(select(Host.id).where(visible_hosts_clause(actor))),
        and_(Alert.host_id.is_(None), Alert.trigger_id.in_(own)),
    )


def count_alerts(session: Session, ids: Collection[UUID], since: datetime) -> dict[UUID, dict[str, int]]:
    """Return the number of alerts by trigger and state that were received since then."""
    query = (
        select(Alert.trigger_id, Alert.state, func.sum(Alert.count))
        .where(Alert.trigger_id.in_(ids), Alert.last_at > since)
        .group_by(Alert.trigger_id, Alert.state)
    )
    results: dict[UUID, dict[str, int]] = {}
    for trigger_id, state, count in session.execute(query):
        results.setdefault(trigger_id, {})[state] = int(count)
    return results


def load_channel_names(session: Session, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return channel names by ID."""
    rows = session.execute(
        select(Channel.id, Channel.name).where(Channel.id.in_(list(ids)), Channel.kind != "grafana")
    )
    return {row.id: row.name for row in rows}


def load_user_names(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Return account names by ID."""
    requested_ids = [item for item in ids if item]
    rows = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(requested_ids)))
    return {row.id: row.name for row in rows}


def list_hosts_by_name(session: Session, actor: Actor, names: Sequence[str]) -> list[Host]:
    """Return the active visible hosts that one of these names can mean."""
    if not names:
        return []
    heads = list({to_short_name(name) for name in names})
    name = func.lower(Host.name)
    query = select(Host).where(
        Host.state == "active",
        visible_hosts_clause(actor),
        or_(name.in_(names), func.lower(Host.address).in_(names), func.split_part(name, ".", 1).in_(heads)),
    )
    return list(session.scalars(query.order_by(Host.name).limit(MAX_CANDIDATES)))


def load_services_by_name(session: Session, names: Sequence[str]) -> dict[str, Service]:
    """Return the declared services with one of these names."""
    if not names:
        return {}
    services = session.scalars(
        select(Service).where(func.lower(Service.name).in_([n.lower() for n in names]))
    )
    return {item.name.lower(): item for item in services}


def list_service_hosts(session: Session, actor: Actor, service: Service) -> list[Host]:
    """Return the active visible hosts of a service, by name."""
    query = select(Host).where(
        Host.state == "active", visible_hosts_clause(actor), Host.labels.contains(service.selector)
    )
    return list(session.scalars(query.order_by(Host.name).limit(MAX_CANDIDATES)))


def list_free_peers(session: Session, actor: Actor, host: Host, alike: ColumnElement[bool]) -> list[Host]:
    """Return visible hosts with the same role that are neither captured nor have a firing alert, by name."""
    alerted = exists().where(
        Alert.host_id == Host.id, Alert.resolved_at.is_(None), Alert.last_at > func.now() - DAY
    )
    working = exists().where(Run.host_id == Host.id, Run.state.not_in(RUN_FINAL))
    query = select(Host).where(
        alike, Host.id != host.id, Host.state == "active", visible_hosts_clause(actor), ~alerted, ~working
    )
    return list(session.scalars(query.order_by(Host.name).limit(MAX_CANDIDATES)))


def load_unhealthy_flags(session: Session, ids: Collection[UUID]) -> dict[UUID, bool]:
    """Return, for diagnosed hosts, whether the last diagnosis named a likely cause."""
    query = (
        select(Run.host_id, Evaluation.ranking)
        .join(Evaluation, Evaluation.run_id == Run.id)
        .where(Run.host_id.in_(ids))
        .ext(distinct_on(Run.host_id))
        .order_by(Run.host_id, Run.id.desc())
    )
    return {
        row.host_id: any(item.get("confidence") == "likely" for item in (row.ranking or {}).get("causes", ()))
        for row in session.execute(query)
    }


def find_latest_alert(session: Session, trigger_id: UUID, fingerprint: str, since: datetime) -> Alert | None:
    """Return the latest unresolved alert with this fingerprint since `since`, or None."""
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


def find_response_for_cause(
    session: Session, host_id: UUID, cause: str, since: datetime
) -> TriggerResponseRecord | None:
    """Return the last response for that cause on the host, or None."""
    query = select(TriggerResponseRecord).where(
        TriggerResponseRecord.host_id == host_id,
        TriggerResponseRecord.cause == cause,
        TriggerResponseRecord.created_at > since,
    )
    return session.scalar(query.order_by(TriggerResponseRecord.created_at.desc()).limit(1))


def find_recent_response(session: Session, host_id: UUID, since: datetime) -> TriggerResponseRecord | None:
    """Return the latest response on the host since then, or an unfinished one, for any cause, or None."""
    running = exists().where(Diagnosis.id == TriggerResponseRecord.diagnosis_id, Diagnosis.state == "running")
    query = select(TriggerResponseRecord).where(
        TriggerResponseRecord.host_id == host_id, or_(TriggerResponseRecord.created_at > since, running)
    )
    return session.scalar(query.order_by(TriggerResponseRecord.created_at.desc()).limit(1))


def lock_open_incident(
    session: Session, *, host_id: UUID, service: str, group: tuple[UUID, str] | None, since: datetime
) -> Incident | None:
    """Return the open incident for an alert of the same host, service or group, locked, or None."""
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


def is_new_alert(session: Session, incident_id: UUID, host_id: UUID, cause: str) -> bool:
    """Return whether the alert is new for the host in this incident, up to a limit of distinct alerts."""
    of_host = (
        select(func.count())
        .select_from(Alert)
        .where(Alert.incident_id == incident_id, Alert.host_id == host_id)
    )
    same = session.scalar(of_host.where(Alert.cause == cause)) or 0
    return not same and (session.scalar(of_host) or 0) < MAX_JOURNALED_ALERTS


def load_responses(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, TriggerResponseRecord]:
    """Return responses by ID."""
    rows = session.scalars(
        select(TriggerResponseRecord).where(TriggerResponseRecord.id.in_([item for item in ids if item]))
    )
    return {row.id: row for row in rows}


def load_host_names(session: Session, actor: Actor, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Return names of visible hosts by ID."""
    rows = session.execute(
        select(Host.id, Host.name).where(
            Host.id.in_([item for item in ids if item]), visible_hosts_clause(actor)
        )
    )
    return {row.id: row.name for row in rows}


def load_incident_numbers(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, int]:
    """Return incident numbers by ID."""
    rows = session.execute(select(Incident.id, Incident.number).where(Incident.id.in_([i for i in ids if i])))
    return {row.id: row.number for row in rows}


def load_trigger_names(session: Session, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return trigger names by ID."""
    rows = session.execute(select(Trigger.id, Trigger.name).where(Trigger.id.in_(list(ids))))
    return {row.id: row.name for row in rows}


def list_unattended_tiers(session: Session) -> Sequence[UnattendedTier]:
    """Return all labels that allow the standard tier."""
    return session.scalars(
        select(UnattendedTier).order_by(UnattendedTier.label_name, UnattendedTier.label_value)
    ).all()


def find_unattended_tier(session: Session, label_name: str, label_value: str) -> UnattendedTier | None:
    """Return what is allowed unattended for a label, or None."""
    return session.scalar(
        select(UnattendedTier).where(
            UnattendedTier.label_name == label_name, UnattendedTier.label_value == label_value
        )
    )
