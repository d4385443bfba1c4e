"""What an armed capture does when its condition begins to hold: everything is asked again, and then it captures."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from collectors.standby import Condition
from culprit.auth import audit
from culprit.auth.actor import Actor, actor_by_id
from culprit.auth.policy import policy
from culprit.captures import service as captures
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import database
from culprit.kit.clock import now, to_ns
from culprit.kit.errors import CulpritError
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, Event, Run, Standby
from culprit.standbys import evidence, leases
from culprit.standbys.leases import Claim
from culprit.standbys.service import SOURCE, capture_of

#: So long at most what was kept waits to be taken by the last capture that was started.
TAKEN_WITHIN = timedelta(seconds=120)
Json = dict[str, Any]


def fire(claim: Claim, condition: Condition, value: float | None) -> bool:
    """Starts the capture, or writes down why not. Returns whether it has started all that it may."""
    with unit_of_work(database().sessions) as session:
        one = leases.held(session, claim)
        if one is None or one.cancel_requested_at is not None or one.fires >= one.fires_max:
            return one is not None and one.fires >= one.fires_max
        at = now()
        if one.fired_at is not None and at < one.fired_at + timedelta(seconds=one.cooldown_s):
            _refuse(one, {"key": "standby.cooling", "params": {"seconds": one.cooldown_s}})
            return False
        actor = actor_by_id(session, one.requested_by)
        if actor is None:
            _refuse(one, {"key": "run.requester_gone", "params": {}})
            return False
        try:
            with session.begin_nested():
                capture = _capture(session, actor, one, condition, value)
        except CulpritError as error:
            _refuse(one, error.sentence)
            audit.record(session, actor, "standby.refused", "standby", one.id, why=error.sentence)
            return False
        one.fires, one.fired_at, one.refused = one.fires + 1, at, None
        _mark(session, one, condition)
        audit.record(
            session,
            actor,
            "standby.fired",
            "standby",
            one.id,
            condition=condition.to_json(),
            value=value,
            capture=capture.number,
        )
        return one.fires >= one.fires_max


def _capture(
    session: Session, actor: Actor, one: Standby, condition: Condition, value: float | None
) -> Capture:
    """The rights of who armed it, the kill switch and the tier are those of this moment."""
    policy(actor, "armed.manage", one.host)
    wanted = capture_of(one, f"armed #{one.number}: {said(condition, value)}"[:500])
    capture = captures.create(session, actor, artifact_store(), wanted, source=SOURCE)
    capture.standby_id = one.id
    session.flush()
    if one.incident_id is not None:
        evidence.land(session, one, capture, condition)
    return capture


def said(condition: Condition, value: float | None) -> str:
    """A condition with its reading, in the words of the command line."""
    name = evidence.named(condition)
    if condition.starts:
        return name
    shown = "-" if value is None else f"{value:g}"
    return f"{name} {shown} {'>=' if condition.op == 'over' else '<='} {condition.limit:g}"


def _refuse(one: Standby, sentence: Json) -> None:
    one.refused = {"at": now().isoformat(), "sentence": sentence}


def _mark(session: Session, one: Standby, condition: Condition) -> None:
    """On the timeline of the host: when we heard of it, by our clock."""
    what = evidence.named(condition)
    title = {"key": "event.armed", "params": {"number": one.number, "what": what}}
    session.add(Event(host_id=one.host_id, t_ns=to_ns(now()), kind="armed", severity="info", title=title))


def settled(claim: Claim) -> bool:
    """Whether nobody needs any more what it has kept: its captures are home, or it has waited long enough."""
    with database().sessions() as session:
        one = session.get(Standby, claim.standby_id)
        if one is None or one.fired_at is None:
            return True
        still = exists().where(
            Run.state.in_(("queued", "running")),
            Run.capture_id.in_(select(Capture.id).where(Capture.standby_id == one.id)),
        )
        return not session.scalar(select(still)) or now() > one.fired_at + TAKEN_WITHIN
