"""What an alert is about and what is to be done: decided from the database, changing nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from collectors.contract import Sentence, Tier
from culprit.auth.actor import Actor, actor_by_id
from culprit.auth.automation import tiers_for
from culprit.auth.kill_switch import holding, said
from culprit.auth.policy import policy
from culprit.core.alerts.contract import Incoming
from culprit.core.alerts.places import (
    HOST_LABELS,
    SERVICE_LABELS,
    Candidate,
    choose,
    host_names,
    service_names,
)
from culprit.kit.errors import CulpritError
from culprit.models import Firing, Host, Service, Trigger
from culprit.triggers import queries
from culprit.triggers.schemas import AlertState, Options
from culprit.workflows.groups import alike, room_for, room_for_twins, service_of

#: Whatever is alerted of a host, it is not looked at again so soon.
HOST_PAUSE = timedelta(minutes=5)
#: What a trigger does needs these of its owner, at the moment at which it does it.
NEEDS = ("trigger.manage", "incident.edit")


@dataclass(frozen=True, slots=True)
class Place:
    """Which host and service an alert means, or why that cannot be told."""

    host: Host | None = None
    service: str = ""
    reason: Sentence | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of an alert. `firing` is what it joins; `peers` are captured along with `place.host`."""

    state: AlertState
    place: Place
    reason: Sentence | None = None
    firing: Firing | None = None
    peers: list[Host] = field(default_factory=list)
    owner: Actor | None = None


def decide(session: Session, trigger: Trigger, alert: Incoming, at: datetime) -> Decision:
    """What is to be done about an alert that is firing. To be carried out under the lock of `triggers.receive`."""
    options = Options.model_validate(trigger.options)
    owner = actor_by_id(session, trigger.owner_id)
    if owner is None:
        return Decision("refused", Place(), Sentence("trigger.owner_gone"))
    where = place(session, owner, options, alert)
    if where.host is None:
        return Decision("unmatched", where, where.reason, owner=owner)
    refusal = _refused(session, owner, where.host)
    if refusal is not None:
        return Decision("refused", where, refusal, owner=owner)
    before = queries.fired(session, where.host.id, alert.cause, at - timedelta(seconds=options.cooldown_s))
    before = before or queries.lately(session, where.host.id, at - HOST_PAUSE)
    if before is not None:
        return Decision("joined", where, firing=before, owner=owner)
    if not room_for(session, where.host, Tier.LIGHT):
        return Decision("held", where, Sentence("alert.group_full", {"host": where.host.name}), owner=owner)
    return Decision("fired", where, peers=peers(session, owner, where.host, options.peers), owner=owner)


def _refused(session: Session, owner: Actor, host: Host) -> Sentence | None:
    """Why nothing may be started on the host on behalf of the owner, who may have lost the right since."""
    try:
        for action in NEEDS:
            policy(owner, action, host)
        policy(owner, "capture.light", host)
    except CulpritError as error:
        params = {name: one for name, one in error.params.items() if isinstance(one, str | int | float)}
        return Sentence(error.key, params)
    switch = holding(session, [host])
    return Sentence(*said(session, switch)) if switch is not None else None


def place(session: Session, owner: Actor, options: Options, alert: Incoming) -> Place:
    """Where it is, by its labels; only what exists for the owner is found. Nothing is guessed."""
    for name, values in options.only.items():
        if alert.labels.get(name) not in values:
            return Place(reason=Sentence("alert.left_alone", {"label": name}))
    named = service_names(alert.labels, options.service_labels or SERVICE_LABELS)
    declared = _declared(session, named)
    names = host_names(alert.labels, options.host_labels or HOST_LABELS)
    if not names:
        return _of_service(session, owner, declared, named)
    hosts = queries.hosts_called(session, owner, names)
    known = {host.id: host for host in hosts}
    found = choose(names, [Candidate(one.id, one.name, one.address) for one in hosts])
    if declared is not None and len(found) > 1:
        runs_it = {one.id for one in queries.hosts_of(session, owner, declared)}
        found = [one for one in found if one.id in runs_it]
    called = ", ".join(names[:4])
    service = declared.name if declared else ""
    if len(found) > 1:
        return Place(None, service, Sentence("alert.host_ambiguous", {"names": called, "count": len(found)}))
    if not found:
        return Place(None, service, Sentence("alert.host_unknown", {"names": called}))
    host = known[found[0].id]
    runs = declared or service_of(session, host)
    return Place(host, runs.name if runs else named[0] if named else "")


def _declared(session: Session, names: list[str]) -> Service | None:
    known = queries.services_called(session, names)
    return next((known[one.lower()] for one in names if one.lower() in known), None)


def _of_service(session: Session, owner: Actor, declared: Service | None, named: list[str]) -> Place:
    """An alert about a service as a whole: the host of it that was last found sick, else the first by name."""
    if declared is None:
        if named:
            return Place(reason=Sentence("alert.service_unknown", {"names": ", ".join(named[:4])}))
        return Place(reason=Sentence("alert.no_place"))
    hosts = queries.hosts_of(session, owner, declared)
    if not hosts:
        return Place(None, declared.name, Sentence("alert.service_empty", {"service": declared.name}))
    sick = queries.sickness(session, [one.id for one in hosts])
    return Place(min(hosts, key=lambda one: (not sick.get(one.id, False), one.name)), declared.name)


def peers(session: Session, owner: Actor, host: Host, wanted: int) -> list[Host]:
    """Healthy hosts of the same kind: those found well at their last look first, then those most alike in labels."""
    room = min(wanted, room_for_twins(session, host))
    if room <= 0:
        return []
    found = queries.twins(session, owner, host, alike(session, host))
    sick = queries.sickness(session, [one.id for one in found])
    mine = set(host.labels.items())
    well = [one for one in found if not sick.get(one.id, False)]
    well.sort(key=lambda one: (one.id not in sick, -len(mine & set(one.labels.items())), one.name))
    return [one for one in well[: 4 * room] if holding(session, [one]) is None][:room]


def tiers(session: Session, host: Host) -> list[str]:
    """What may run there without a person, the lightest first."""
    allowed = tiers_for(session, host, "trigger")
    return [str(one) for one in Tier if one in allowed]
