"""Find the target of an alert and plan the response. Reads the database and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from collectors.contract import Sentence, Tier
from culprit.accounts.actor import Actor, find_actor
from culprit.accounts.authorization import authorize
from culprit.accounts.kill_switch_check import describe_switch, find_active_switch
from culprit.accounts.unattended_tiers import get_allowed_tiers
from culprit.automation.triggers import queries
from culprit.automation.triggers.schemas import AlertState, TriggerOptions
from culprit.domain.alerts.contract import IncomingAlert
from culprit.domain.alerts.places import (
    HOST_LABELS,
    SERVICE_LABELS,
    HostCandidate,
    extract_host_names,
    extract_service_names,
    match_hosts,
)
from culprit.hosts.peer_groups import can_capture_unattended, count_free_peer_slots
from culprit.hosts.peer_queries import find_declared_service, peers_condition
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.automation.trigger_response import TriggerResponseRecord
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.service import Service
from culprit.web.errors import CulpritError

#: After a capture because of an alert, no other alert starts one on the host within this time.
HOST_PAUSE = timedelta(minutes=5)
#: Permissions of the trigger's owner that a response requires when it starts.
REQUIRED_ACTIONS = ("trigger.manage", "incident.edit")


@dataclass(frozen=True, slots=True)
class AlertTarget:
    """The host and service that an alert names, or the reason why they are unknown."""

    host: Host | None = None
    service: str = ""
    reason: Sentence | None = None


@dataclass(frozen=True, slots=True)
class ResponsePlan:
    """The response to an alert. `firing` is the response that it joins; `peers` are captured too."""

    state: AlertState
    place: AlertTarget
    reason: Sentence | None = None
    firing: TriggerResponseRecord | None = None
    peers: list[Host] = field(default_factory=list)
    owner: Actor | None = None


def plan_response(session: Session, trigger: Trigger, alert: IncomingAlert, at: datetime) -> ResponsePlan:
    """Return the response to a firing alert. The caller holds the lock of `receive_alerts`."""
    options = TriggerOptions.model_validate(trigger.options)
    owner = find_actor(session, trigger.owner_id)
    if owner is None:
        return ResponsePlan("refused", AlertTarget(), Sentence("trigger.owner_gone"))
    where = find_target(session, owner, options, alert)
    if where.host is None:
        return ResponsePlan("unmatched", where, where.reason, owner=owner)
    refusal = _find_refusal(session, owner, where.host)
    if refusal is not None:
        return ResponsePlan("refused", where, refusal, owner=owner)
    before = queries.find_response_for_cause(
        session, where.host.id, alert.cause, at - timedelta(seconds=options.cooldown_s)
    )
    before = before or queries.find_recent_response(session, where.host.id, at - HOST_PAUSE)
    if before is not None:
        return ResponsePlan("joined", where, firing=before, owner=owner)
    if not can_capture_unattended(session, where.host, Tier.LIGHT):
        return ResponsePlan(
            "deferred", where, Sentence("alert.group_full", {"host": where.host.name}), owner=owner
        )
    return ResponsePlan(
        "started", where, peers=select_healthy_peers(session, owner, where.host, options.peers), owner=owner
    )


def _find_refusal(session: Session, owner: Actor, host: Host) -> Sentence | None:
    """Return why the owner may start nothing on the host, or None; permissions may have changed."""
    try:
        for action in REQUIRED_ACTIONS:
            authorize(owner, action, host)
        authorize(owner, "capture.light", host)
    except CulpritError as error:
        params = {name: item for name, item in error.params.items() if isinstance(item, str | int | float)}
        return Sentence(error.key, params)
    switch = find_active_switch(session, [host])
    return Sentence(*describe_switch(session, switch)) if switch is not None else None


def find_target(session: Session, owner: Actor, options: TriggerOptions, alert: IncomingAlert) -> AlertTarget:
    """Find the host and service of an alert by its labels, among those visible to the owner."""
    for name, values in options.label_filter.items():
        if alert.labels.get(name) not in values:
            return AlertTarget(reason=Sentence("alert.left_alone", {"label": name}))
    named = extract_service_names(alert.labels, options.service_labels or SERVICE_LABELS)
    declared = _find_service(session, named)
    names = extract_host_names(alert.labels, options.host_labels or HOST_LABELS)
    if not names:
        return _find_service_target(session, owner, declared, named)
    hosts = queries.list_hosts_by_name(session, owner, names)
    known = {host.id: host for host in hosts}
    results = match_hosts(names, [HostCandidate(host.id, host.name, host.address) for host in hosts])
    if declared is not None and len(results) > 1:
        runs_it = {service_host.id for service_host in queries.list_service_hosts(session, owner, declared)}
        results = [item for item in results if item.id in runs_it]
    called = ", ".join(names[:4])
    service = declared.name if declared else ""
    if len(results) > 1:
        return AlertTarget(
            None, service, Sentence("alert.host_ambiguous", {"names": called, "count": len(results)})
        )
    if not results:
        return AlertTarget(None, service, Sentence("alert.host_unknown", {"names": called}))
    host = known[results[0].id]
    runs = declared or find_declared_service(session, host)
    return AlertTarget(host, runs.name if runs else named[0] if named else "")


def _find_service(session: Session, names: list[str]) -> Service | None:
    known = queries.load_services_by_name(session, names)
    return next((known[name.lower()] for name in names if name.lower() in known), None)


def _find_service_target(
    session: Session, owner: Actor, declared: Service | None, named: list[str]
) -> AlertTarget:
    """Return the host of a service that was last found unhealthy, otherwise the first by name."""
    if declared is None:
        if named:
            return AlertTarget(reason=Sentence("alert.service_unknown", {"names": ", ".join(named[:4])}))
        return AlertTarget(reason=Sentence("alert.no_place"))
    hosts = queries.list_service_hosts(session, owner, declared)
    if not hosts:
        return AlertTarget(None, declared.name, Sentence("alert.service_empty", {"service": declared.name}))
    unhealthy_flags = queries.load_unhealthy_flags(session, [host.id for host in hosts])
    return AlertTarget(
        min(hosts, key=lambda host: (not unhealthy_flags.get(host.id, False), host.name)), declared.name
    )


def select_healthy_peers(session: Session, owner: Actor, host: Host, requested: int) -> list[Host]:
    """Return healthy hosts with the same role: last diagnosed healthy first, then by similarity of labels."""
    room = min(requested, count_free_peer_slots(session, host))
    if room <= 0:
        return []
    free_peers = queries.list_free_peers(session, owner, host, peers_condition(session, host))
    unhealthy_flags = queries.load_unhealthy_flags(session, [free_peer.id for free_peer in free_peers])
    mine = set(host.labels.items())
    well = [free_peer for free_peer in free_peers if not unhealthy_flags.get(free_peer.id, False)]
    well.sort(
        key=lambda item: (item.id not in unhealthy_flags, -len(mine & set(item.labels.items())), item.name)
    )
    return [item for item in well[: 4 * room] if find_active_switch(session, [item]) is None][:room]


def list_allowed_tiers(session: Session, host: Host) -> list[str]:
    """Return the tiers that may run unattended on the host, lightest first."""
    allowed = get_allowed_tiers(session, host, "trigger")
    return [str(item) for item in Tier if item in allowed]
