"""Decisions about schedules: what they may ask for, when they are due, and whose their captures are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.orm import Session

from collectors.contract import Tier
from culprit.auth import audit
from culprit.auth.actor import Actor, actor_of
from culprit.auth.policy import covers, policy, require_covered
from culprit.core.cron import Instant, first_valid, instants, normal, zone_of
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.kit.uuid7 import uuid7
from culprit.models import Host, Schedule, ScheduleHost, UserAccount
from culprit.schedules import ledger, queries
from culprit.schedules.schemas import Cadence, Cron, Once, ScheduleCreate, ScheduleUpdate, Target, Wanted
from culprit.schedules.standing import plan_for


def understood(cadence: Cadence) -> Cadence:
    """The same with its fields as they are kept. Raises Invalid."""
    if isinstance(cadence, Once):
        _known(cadence.zone)
        return cadence
    return Cron(kind="cron", cron=understood_fields(cadence.cron, cadence.zone), zone=cadence.zone)


def understood_fields(cron: str, zone: str) -> str:
    """Cron fields on the clock of a zone, as they are kept. Raises Invalid."""
    _known(zone)
    try:
        return normal(cron)
    except ValueError as error:
        raise Invalid("schedule.cron_unreadable", what=str(error)[:200]) from None


def _known(zone: str) -> None:
    try:
        zone_of(zone)
    except ValueError:
        raise Invalid("schedule.no_such_zone", zone=zone) from None


def upcoming(cadence: Cadence, after: datetime) -> Iterator[Instant]:
    """When it is due later than `after`. The cadence is as `understood` gives it."""
    zone = zone_of(cadence.zone)
    if isinstance(cadence, Cron):
        return instants(cadence.cron, zone, after)
    found = first_valid(cadence.wall, zone)
    return iter([found] if found.at > after else [])


def create(session: Session, actor: Actor, wanted: ScheduleCreate) -> Schedule:
    """A new schedule, owned by who makes it. Raises Invalid, Forbidden, Conflict, NotFound."""
    policy(actor, "schedule.manage")
    if queries.named(session, wanted.name) is not None:
        raise Conflict("schedule.name_taken", name=wanted.name)
    one = Schedule(
        id=uuid7(),
        name=wanted.name,
        owner_id=actor.id,
        created_by=actor.id,
        reason=wanted.reason,
        catch_up=wanted.catch_up,
        grace_s=wanted.grace_s,
    )
    hosts = _target_hosts(session, actor, wanted.target)
    _set_cadence(one, wanted.cadence)
    tier = _set_wanted(actor, one, wanted.wanted, hosts)
    _allow_deep(actor, one, tier, allow=wanted.allow_deep)
    session.add(one)
    session.flush()
    _set_target(session, one, wanted.target)
    audit.record(session, actor, "schedule.created", "schedule", one.id, **_told(one, hosts))
    return one


def update(session: Session, actor: Actor, schedule_id: UUID, wanted: ScheduleUpdate) -> Schedule:
    """Change a schedule. Who changes what, where or when it captures, owns it from then on.

    A label scope must cover every host that it captures, before and after.

    Raises Invalid, Forbidden, Conflict, NotFound.
    """
    policy(actor, "schedule.manage")
    one = found(session, actor, schedule_id, lock=True)
    _require_covered(session, actor, one)
    if one.version != wanted.version:
        raise Conflict("schedule.changed_meanwhile", name=one.name)
    if wanted.name is not None and wanted.name != one.name:
        if queries.named(session, wanted.name) is not None:
            raise Conflict("schedule.name_taken", name=wanted.name)
        one.name = wanted.name
    at = now()
    if wanted.cadence is not None or wanted.paused is not None:
        ledger.forgo(session, one, at, actor.name, "schedule.missed_by_change")
    hosts = _change_work(session, actor, one, wanted)
    for name in ("reason", "catch_up", "grace_s"):
        if (value := getattr(wanted, name)) is not None:
            setattr(one, name, value)
    if wanted.cadence is not None:
        _set_cadence(one, wanted.cadence, paused=one.state == "paused")
    if wanted.paused is not None:
        _set_paused(one, at, paused=wanted.paused)
    one.version += 1
    one.updated_at = at
    session.flush()
    changed = sorted(wanted.model_fields_set - {"version"})
    audit.record(session, actor, "schedule.changed", "schedule", one.id, changed=changed, **_told(one, hosts))
    return one


def _change_work(session: Session, actor: Actor, one: Schedule, wanted: ScheduleUpdate) -> list[Host]:
    """What and where it captures; the hosts that it would capture now."""
    if wanted.target is not None:
        hosts = _target_hosts(session, actor, wanted.target)
        _set_target(session, one, wanted.target)
    else:
        hosts = queries.targets(session, actor, one)
    kept = Wanted.model_validate(one.wanted)
    if wanted.target is not None or wanted.wanted is not None or wanted.cadence is not None:
        tier = _set_wanted(actor, one, wanted.wanted or kept, hosts)
        one.owner_id = actor.id
        # What an administrator has allowed was another schedule; they may allow this one, too.
        one.deep_allowed_by = None
        _allow_deep(actor, one, tier, allow=bool(wanted.allow_deep))
    elif wanted.allow_deep is not None:
        policy(actor, "schedule.allow_deep")
        one.deep_allowed_by = actor.id if wanted.allow_deep else None
    return hosts


def remove(session: Session, actor: Actor, schedule_id: UUID) -> None:
    """Forget a schedule and what became of its due instants; what it captured stays. Raises NotFound, Forbidden."""
    policy(actor, "schedule.manage")
    one = found(session, actor, schedule_id, lock=True)
    _require_covered(session, actor, one)
    told = _told(one, queries.targets(session, actor, one))
    session.delete(one)
    session.flush()
    audit.record(session, actor, "schedule.removed", "schedule", schedule_id, **told)


def found(session: Session, actor: Actor, schedule_id: UUID, *, lock: bool = False) -> Schedule:
    """One visible schedule. Raises NotFound."""
    one = queries.schedule(session, actor, schedule_id, lock=lock)
    if one is None:
        raise NotFound("schedule.not_found")
    return one


def _require_covered(session: Session, actor: Actor, one: Schedule) -> None:
    """Raise Forbidden where it captures hosts outside the actor's scope, now or when one gets its labels."""
    if actor.unrestricted:
        return
    owner = actor_of(session.get_one(UserAccount, one.owner_id))
    if one.selector is not None:
        covered = covers(actor, one.selector, owner.label_scope)
    else:
        covered = not queries.names_hidden_host(session, actor, owner, one)
    require_covered(actor, covered=covered)


def _target_hosts(session: Session, actor: Actor, target: Target) -> list[Host]:
    if target.labels is not None:
        return queries.labelled_hosts(session, actor, target.labels)
    wanted = set(target.host_ids or ())
    hosts = queries.visible_hosts(session, actor, wanted)
    if len(hosts) != len(wanted):
        raise NotFound("host.not_found")
    return hosts


def _set_target(session: Session, one: Schedule, target: Target) -> None:
    one.selector = dict(target.labels) if target.labels is not None else None
    session.execute(delete(ScheduleHost).where(ScheduleHost.schedule_id == one.id))
    session.add_all(ScheduleHost(schedule_id=one.id, host_id=host) for host in set(target.host_ids or ()))
    session.flush()


def _set_cadence(one: Schedule, wanted: Cadence, *, paused: bool = False) -> None:
    cadence = understood(wanted)
    due = next(upcoming(cadence, now()), None)
    if due is None:
        raise Invalid("schedule.in_the_past" if isinstance(cadence, Once) else "schedule.never")
    one.kind, one.zone = cadence.kind, cadence.zone
    one.cron = cadence.cron if isinstance(cadence, Cron) else None
    one.wall = cadence.wall if isinstance(cadence, Once) else None
    one.state, one.next_due = ("paused", None) if paused else ("active", due.at)


def _set_paused(one: Schedule, at: datetime, *, paused: bool) -> None:
    if paused:
        if one.state == "active":
            one.state, one.next_due = "paused", None
        return
    if one.state == "paused":
        due = next(ledger.to_come(one, at), None)
        if due is None:
            raise Invalid("schedule.in_the_past" if one.kind == "once" else "schedule.never")
        ledger.move_on(one, due.at)


def _set_wanted(actor: Actor, one: Schedule, wanted: Wanted, hosts: list[Host]) -> Tier:
    plan = plan_for(actor, wanted, hosts)
    one.wanted = wanted.model_dump(mode="json", exclude_none=True)
    return plan.tier


def _allow_deep(actor: Actor, one: Schedule, tier: Tier, *, allow: bool) -> None:
    if allow and tier is Tier.DEEP:
        policy(actor, "schedule.allow_deep")
        one.deep_allowed_by = actor.id


def _told(one: Schedule, hosts: list[Host]) -> dict[str, Any]:
    """A schedule as the audit log keeps it."""
    return {
        "name": one.name,
        "due": one.cron or (one.wall.isoformat() if one.wall else ""),
        "zone": one.zone,
        "wanted": one.wanted,
        "labels": one.selector,
        "hosts": [host.name for host in hosts],
        "state": one.state,
        "deep_allowed": one.deep_allowed_by is not None,
    }


def first(cadence: Cadence, after: datetime, count: int) -> list[Instant]:
    """The next `count` due instants."""
    return list(islice(upcoming(cadence, after), count))
