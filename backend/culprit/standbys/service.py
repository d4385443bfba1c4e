"""Decisions about standbys: what may wait on a host, for how long, and how it ends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import PLANS, tier_of
from collectors.registry import COLLECTORS
from collectors.standby import Condition
from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.automation import permit_automatic
from culprit.auth.kill_switch import permit_start
from culprit.auth.policy import policy
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.models import Host, Standby
from culprit.standbys import evidence, queries
from culprit.standbys.schemas import ArmedCreate, ConditionGiven, RingCreate

SOURCE = "armed"
ACTION = {"ring": "ring.manage", "armed": "armed.manage"}
#: What an armed capture keeps, so that the capture holds the beginning of what it was armed for.
ARMED_RING_S = 180
#: Bytes for each second that is kept: /proc of a host with a hundred CPUs. On a larger one fewer seconds fit.
BYTES_PER_S = 32 << 10
Json = dict[str, Any]


def create(session: Session, actor: Actor, wanted: RingCreate | ArmedCreate) -> Standby:
    """A new one, to be begun by the next worker that looks. Raises Invalid, Forbidden, Conflict, NotFound."""
    policy(actor, ACTION[wanted.kind])
    host = queries.host(session, actor, wanted.host_id)
    if host is None:
        raise NotFound("host.not_found")
    policy(actor, ACTION[wanted.kind], host)
    permit_start(session, [host])
    seconds = wanted.seconds if isinstance(wanted, RingCreate) else ARMED_RING_S
    one = Standby(
        kind=wanted.kind,
        host_id=host.id,
        reason=wanted.reason,
        ring_s=seconds,
        ring_bytes=seconds * BYTES_PER_S,
        until=now() + timedelta(hours=wanted.hours),
        requested_by=actor.id,
    )
    if isinstance(wanted, RingCreate) and wanted.stacks:
        one.stacks = True
        permit_stacks(session, actor, host)
    if isinstance(wanted, ArmedCreate):
        _arm(session, actor, one, wanted, host)
    try:
        with session.begin_nested():
            session.add(one)
    except IntegrityError:  # uq_standby_open
        raise Conflict(f"standby.{wanted.kind}_there", host=host.name) from None
    if isinstance(wanted, ArmedCreate) and wanted.incident_id is not None:
        evidence.arm_for(session, actor, one, wanted.incident_id)
    audit.record(session, actor, "standby.create", "standby", one.id, **_told(one, host))
    return one


def _arm(session: Session, actor: Actor, one: Standby, wanted: ArmedCreate, host: Host) -> None:
    """What it waits for and what it starts, checked as the capture will be."""
    one.conditions = [condition(given).to_json() for given in wanted.conditions]
    one.wanted = wanted.model_dump(
        mode="json", include={"plan", "seconds", "collectors", "scope", "options"}, exclude_none=True
    )
    capture = capture_of(one)
    plan = captures.plan_of(capture)
    captures.scope_of(capture)
    captures.check_options(capture.options, plan)
    policy(actor, f"capture.{plan.tier}", host)
    permit_automatic(session, plan.tier, [host], SOURCE)
    one.fires_max, one.cooldown_s = wanted.fires_max, wanted.cooldown_s


def permit_stacks(session: Session, actor: Actor, host: Host) -> None:
    """perf interrupts every CPU for hours: as standard as a profile is. Raises Forbidden."""
    policy(actor, f"capture.{Tier.STANDARD}", host)
    permit_automatic(session, Tier.STANDARD, [host], SOURCE)


def condition(given: ConditionGiven) -> Condition:
    """What the host will look at; raises Invalid."""
    try:
        return Condition(**given.model_dump())
    except ValueError as error:
        raise Invalid("standby.condition_invalid", kind=given.kind, what=str(error)[:200]) from error


def capture_of(one: Standby, reason: str = "") -> CaptureCreate:
    """The capture that it starts."""
    return CaptureCreate.model_validate({"host_ids": [one.host_id], "reason": reason, **(one.wanted or {})})


def tier(one: Standby) -> str:
    """The tier of that capture."""
    named = (one.wanted or {}).get("collectors") or [
        planned.id for planned in PLANS[(one.wanted or {}).get("plan", "triage")].collectors
    ]
    return str(tier_of(name for name in named if name in COLLECTORS))


def end(session: Session, actor: Actor, standby_id: UUID) -> Standby:
    """Ends one before its time. Repeating it changes nothing. Raises NotFound, Forbidden."""
    one = queries.one(session, actor, standby_id, lock=True)
    if one is None:
        raise NotFound("standby.not_found")
    if one.requested_by != actor.id:
        policy(actor, ACTION[one.kind], one.host)
    if one.ended_at is None and one.cancel_requested_at is None:
        _call_off(one, None)
        one.ended_by = actor.id
        audit.record(session, actor, "standby.end", "standby", one.id, number=one.number, host=one.host.name)
    session.flush()
    return one


def call_off_on(session: Session, hosts: ColumnElement[bool], why: Json) -> list[Standby]:
    """Ends all that waits on the hosts of a condition: what waits to be begun now, the rest within seconds."""
    found = queries.open_on(session, hosts)
    for one in found:
        _call_off(one, why)
    session.flush()
    return found


def _call_off(one: Standby, why: Json | None) -> None:
    one.cancel_requested_at = one.cancel_requested_at or now()
    one.failure = why or one.failure
    if one.state == "waiting":
        one.state, one.ended_at, one.waiting = "cancelled", now(), None


def _told(one: Standby, host: Host) -> Json:
    """A standby as the audit log keeps it."""
    return {
        "kind": one.kind,
        "host": host.name,
        "until": one.until.isoformat(),
        "conditions": one.conditions,
        "wanted": one.wanted,
        "fires_max": one.fires_max,
        "ring_s": one.ring_s,
        "stacks": one.stacks,
        "reason": one.reason,
    }
