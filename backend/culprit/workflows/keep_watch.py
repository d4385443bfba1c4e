"""One standby on one host: claim, log in, wait there, and start what it was armed for. Done by `culprit.worker`.

The same session as that of a capture, with a lease of its own kind on the host and in the database. No transaction is
open while it lasts. Whether it may go on is looked at all the time; whether a capture may start, when one starts.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from collectors import bundle, look_back, standby
from collectors.standby import Condition, Fired, Ring, Watching
from culprit.auth.actor import actor_by_id
from culprit.auth.policy import policy
from culprit.config import settings
from culprit.core.patience import Waits
from culprit.core.standing import SOUND_S, STEP_S, Heard, pause_s
from culprit.hosts.access import hops_to, rules, sudo_password
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import database
from culprit.infra.forkserver import Hungup, Message
from culprit.infra.secrets import SecretUnreadable
from culprit.kit.clock import now
from culprit.kit.errors import CulpritError
from culprit.kit.unit_of_work import unit_of_work
from culprit.kit.uuid7 import uuid7
from culprit.models import Host, Standby
from culprit.standbys import leases
from culprit.standbys.leases import Claim
from culprit.standbys.service import ACTION, permit_stacks, tier
from culprit.workflows.crew import SESSION, Crew, crew
from culprit.workflows.fire_armed import fire, settled
from culprit.workflows.homecoming import Homecoming
from culprit.workflows.orders import Refused, last_timings, refuse_stopped
from culprit.workflows.session import pack_hop
from culprit.workflows.spool import Spool
from culprit.workflows.supervise import Died, Lost, Wishes, first_connect_s, supervise

BUSY_PAUSE = timedelta(seconds=30)
RENEW_EVERY_S = 5.0
STDOUT_BYTES = 8 << 20
#: A deadline within this is as good as reached.
NEARLY_S = 2.0
Json = dict[str, Any]
log = structlog.get_logger("culprit.keep_watch")


@dataclass(slots=True)
class Watch:
    """One session with what it needs, out of the database at one moment, and what was heard in it. Has no secrets."""

    claim: Claim
    number: int
    kind: str
    host_id: UUID
    until: datetime
    ring: Ring
    conditions: tuple[Condition, ...]
    sudo: bundle.Sudo
    max_silence_s: float
    heard: Heard = field(default_factory=Heard)
    began_s: float = 0.0
    noted_s: float = 0.0
    used_up: bool = False
    over: bool = False


def keep_watch(standby_id: UUID) -> str | None:
    """Look after one standby until it is over. Returns the state it is left in; None where it was not ours."""
    team = crew()
    team.start()
    with unit_of_work(database().sessions) as session:
        claim = leases.claim(session, standby_id, team.name)
    if claim is None:
        return None
    team.begin_watching(standby_id)
    spool = Spool.of(settings().home, standby_id, claim.fence)
    try:
        return _work(team, claim, spool)
    finally:
        team.end(standby_id)
        spool.discard()


def _work(team: Crew, claim: Claim, spool: Spool) -> str | None:
    watch: Watch | None = None
    try:
        with unit_of_work(database().sessions) as session:
            watch, job, password = _order(session, claim)
        home = _session(team, watch, {**job, "spool": str(spool.directory)}, password)
        return _settle(watch, home)
    except Refused as refusal:
        with unit_of_work(database().sessions) as session:
            left = leases.leave(session, claim, refusal.state, failure=refusal.sentence)
            return refusal.state if left else None
    except (Lost, Died) as error:
        log.info("standby_given_up", standby=str(claim.standby_id), why=type(error).__name__)
        if isinstance(error, Lost) and not team.stopping.is_set():
            return None
        with unit_of_work(database().sessions) as session:
            why = {"key": "standby.worker_stopped", "params": {}}
            back = leases.put_back(session, claim, timedelta(0), why, interrupted=Standby.interrupted + 1)
            return "waiting" if back else None


def _order(session: Session, claim: Claim) -> tuple[Watch, Json, str | None]:
    """What the session needs; raises Refused. Whoever asked must still be allowed to."""
    one = session.get_one(Standby, claim.standby_id)
    host = one.host
    if host.state != "active":
        raise Refused({"key": "host.not_active", "params": {"host": host.name}})
    refuse_stopped(session, host)
    actor = actor_by_id(session, one.requested_by)
    if actor is None:
        raise Refused({"key": "run.requester_gone", "params": {}})
    try:
        policy(actor, ACTION[one.kind], host)
        if one.kind == "armed":
            policy(actor, f"capture.{tier(one)}", host)
        if one.stacks:
            permit_stacks(session, actor, host)
        hops, allowed, password = hops_to(session, host), rules(session), sudo_password(host)
        conditions = tuple(Condition.from_json(given) for given in one.conditions)
    except CulpritError as error:
        raise Refused(error.sentence) from error
    except SecretUnreadable as error:
        raise Refused({"key": "run.secret_unreadable", "params": {"host": host.name}}) from error
    except ValueError as error:
        raise Refused({"key": "capture.no_longer_valid", "params": {"what": str(error)[:200]}}) from error
    watch = Watch(
        claim,
        one.number,
        one.kind,
        host.id,
        one.until,
        Ring(one.ring_s, one.ring_bytes, look_back.FILES, one.stacks),
        conditions,
        cast(bundle.Sudo, host.sudo),
        float(host.max_silence_s),
    )
    connect_s = first_connect_s(last_timings(session, host), watch.max_silence_s)
    job = {
        "hops": [pack_hop(hop) for hop in hops],
        "rules": [[rule.cidr, rule.port_from, rule.port_to] for rule in allowed],
        "patience": {"connect_s": connect_s, "step_s": watch.max_silence_s},
    }
    return watch, job, password


def _session(team: Crew, watch: Watch, job: Json, password: str | None) -> Homecoming:
    standby_id = watch.claim.standby_id

    def start(limits: Waits) -> Message:
        return _command(watch, limits, password)

    wishes = Wishes(
        max_silence_s=watch.max_silence_s,
        connect_s=job["patience"]["connect_s"],
        host_deadline_s=_left_s(watch),
        start=start,
        keep=lambda home, progress: _keep(watch),
        called_off=lambda: watch.over or team.cancelled(standby_id),
        given_up=team.stopping.is_set,
        told=lambda line: _told(watch, line),
    )
    try:
        with team.server.child(SESSION, job) as child:
            return supervise(child, wishes)
    except Hungup as error:
        raise Died from error


def _left_s(watch: Watch) -> float:
    return max(1.0, (watch.until - now()).total_seconds())


def _command(watch: Watch, limits: Waits, password: str | None) -> Message:
    """The command for the host; what is sent is written down first. Raises Refused, Lost.

    Its deadline is the one that was asked for, whatever the login took: nothing waits longer than that.
    """
    bounds = standby.limits(
        str(uuid7()), watch.kind, max(1, int(_left_s(watch))), round(limits.runner_silence_s), watch.ring
    )
    program = standby.program(watch.ring, watch.conditions, bounds)
    sha256 = artifact_store().put([program], len(program)).sha256
    spec = {"limits": asdict(bounds), "program_sha256": sha256, "program_bytes": len(program)}
    with unit_of_work(database().sessions) as session:
        host = session.get(Host, watch.host_id)
        if host is not None:
            refuse_stopped(session, host)
        if not leases.renew(session, watch.claim, spec=spec):
            raise Lost
    return {
        "command": bundle.command(program, sudo=watch.sudo),
        "first_line": password,
        "stdout_bytes": STDOUT_BYTES,
    }


def _told(watch: Watch, line: str) -> None:
    """One line of the watcher. What it says may be false or anything: it starts what was armed, and nothing else."""
    word = standby.said(line)
    try:
        if isinstance(word, Watching):
            watch.heard.take(word)
            if not watch.began_s:
                watch.began_s = time.monotonic()
                _note(watch, started_at=now(), failures=0)
        elif isinstance(word, Fired) and watch.kind == "armed" and word.number <= len(watch.conditions):
            watch.used_up = fire(watch.claim, watch.conditions[word.number - 1], word.value)
        elif watch.ring.stacks and line.startswith(standby.NO_STACKS):
            _note(watch, waiting={"key": "standby.no_stacks", "params": {}})
    except DBAPIError as error:
        log.warning("word_lost", standby=watch.number, word=line[:20], error=type(error).__name__)


def _keep(watch: Watch) -> bool:
    """Renews the lease every few seconds; False where the standby is not ours any more.

    One that has fired for the last time stays until its capture has taken what it had kept.
    """
    at = time.monotonic()
    if at - watch.noted_s < RENEW_EVERY_S:
        return True
    watch.noted_s = at
    try:
        if watch.used_up:
            watch.over = settled(watch.claim)
        return _note(watch)
    except DBAPIError as error:
        log.warning("database_away", error=type(error).__name__)
        return True


def _note(watch: Watch, **values: Any) -> bool:
    cost = watch.heard.cost()
    if cost is not None:
        read = watch.heard.values(len(watch.conditions))
        values |= {
            "cost": cost,
            "readings": {"at": datetime.now(UTC).isoformat(), "step_s": STEP_S, "values": read},
        }
    with unit_of_work(database().sessions) as session:
        return leases.renew(session, watch.claim, **values)


def _settle(watch: Watch, home: Homecoming) -> str | None:
    """What becomes of it now that the session is over."""
    with unit_of_work(database().sessions) as session:
        one = leases.held(session, watch.claim)
        if one is None:
            return None
        state, values = _state(watch, one, home)
        if state != "waiting":
            return state if leases.leave(session, watch.claim, state, **values) else None
        pause = values.pop("pause")
        back = leases.put_back(session, watch.claim, pause, values.pop("why"), **values)
        return "waiting" if back else None


def _state(watch: Watch, one: Standby, home: Homecoming) -> tuple[str, Json]:
    end = home.end or {}
    if one.cancel_requested_at is not None:
        return "cancelled", {}
    if watch.over:
        return "fired", {}
    if end.get("why") == "deadline" or _left_s(watch) <= NEARLY_S:
        return "expired", {}
    if home.busy is not None:
        why = {"key": "standby.host_busy", "params": {"host": one.host.name}}
        return "waiting", {"pause": BUSY_PAUSE, "why": why}
    if home.refusal is not None:
        return "failed", {"failure": {"key": "run.host_refused", "params": _short(home.refusal)}}
    why = home.failure or {
        "key": "standby.watcher_ended",
        "params": {"host": one.host.name, "status": str(end.get("watcher", "-"))[:20]},
    }
    sound = bool(watch.began_s) and time.monotonic() - watch.began_s > SOUND_S
    failures = 1 if sound else one.failures + 1
    pause = None if home.final else pause_s(failures)
    if pause is None:
        return "failed", {"failure": why}
    return "waiting", {
        "pause": timedelta(seconds=pause),
        "why": why,
        "failures": failures,
        "interrupted": one.interrupted + 1,
    }


def _short(facts: Json) -> Json:
    return {str(name)[:40]: str(value)[:100] for name, value in list(facts.items())[:8]}
