"""A look at a host before anything is captured: the task `culprit.check_host`. Read-only on the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast
from uuid import UUID

import structlog
from sqlalchemy import func, update
from sqlalchemy.orm import Session

from collectors import bundle
from collectors.contract import Sentence
from collectors.host_values import is_digits
from collectors.parse.preflight import read
from collectors.preflight import PROGRAM, assess, checks
from collectors.registry import COLLECTORS
from culprit.auth.actor import actor_by_id
from culprit.auth.policy import policy
from culprit.core.fact_names import of_check
from culprit.core.patience import Waits
from culprit.hosts.access import hops_to, rules, sudo_password
from culprit.infra.addresses import Rule
from culprit.infra.db import database
from culprit.infra.forkserver import Hungup, Message
from culprit.infra.secrets import SecretUnreadable
from culprit.infra.ssh import Hop
from culprit.kit.clock import now_ns
from culprit.kit.errors import CulpritError
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Host, Preflight
from culprit.workflows.clocks import server_offset
from culprit.workflows.crew import SESSION, Crew, crew
from culprit.workflows.homecoming import Homecoming
from culprit.workflows.keep_facts import PREFLIGHT, Source, keep
from culprit.workflows.orders import Refused, last_timings, refuse_stopped
from culprit.workflows.session import pack_hop
from culprit.workflows.supervise import Died, Lost, Wishes, first_connect_s, supervise

HEALTHY_S = 15.0
STDOUT_BYTES = 1 << 20
DEFAULT_ROUND_TRIP_MS = 200.0
Json = dict[str, Any]
log = structlog.get_logger("culprit.check_host")
_now = func.clock_timestamp()


def check_host(preflight_id: UUID) -> str | None:
    """Do one check. Returns its state; None where somebody else does it."""
    team = crew()
    team.start()
    with unit_of_work(database().sessions) as session:
        host_id = session.scalar(
            update(Preflight)
            .where(Preflight.id == preflight_id, Preflight.state == "queued")
            .values(state="running")
            .returning(Preflight.host_id)
        )
        if host_id is None:
            return None
    try:
        with unit_of_work(database().sessions) as session:
            visit = _visit(session, preflight_id, host_id)
        home = _look(team, *visit)
    except Refused as refusal:
        return _finish(preflight_id, state="failed", failure=refusal.sentence)
    except (Lost, Died, Hungup):
        return _finish(
            preflight_id,
            state="queued" if team.stopping.is_set() else "failed",
            failure={"key": "preflight.lost", "params": {}},
        )
    if home.failure is not None:
        timings = _timings(home)
        return _finish(preflight_id, state="failed", failure=home.failure, timings=timings)
    return _report(preflight_id, host_id, home)


def _visit(
    session: Session, preflight_id: UUID, host_id: UUID
) -> tuple[tuple[Hop, ...], tuple[Rule, ...], Json]:
    """How to get there, and what to do; raises Refused. Whoever asked must still be allowed to."""
    host = session.get_one(Host, host_id)
    asked = session.get_one(Preflight, preflight_id).requested_by
    actor = actor_by_id(session, asked)
    if asked is not None and actor is None:
        raise Refused({"key": "run.requester_gone", "params": {}})
    refuse_stopped(session, host)
    try:
        if actor is not None:
            policy(actor, "host.check", host)
        hops, allowed, password = hops_to(session, host), rules(session), sudo_password(host)
    except CulpritError as error:
        raise Refused(error.sentence) from error
    except SecretUnreadable as error:
        raise Refused({"key": "run.secret_unreadable", "params": {"host": host.name}}) from error
    program = PROGRAM + f"# {bundle.END_MARK}\n".encode()
    return (
        hops,
        allowed,
        {
            "command": bundle.command(program, sudo=cast(bundle.Sudo, host.sudo)),
            "first_line": password,
            "max_silence_s": float(host.max_silence_s),
            "last": last_timings(session, host),
        },
    )


def _look(team: Crew, hops: tuple[Hop, ...], allowed: tuple[Rule, ...], what: Json) -> Homecoming:
    max_silence_s = what["max_silence_s"]
    wait_connect = first_connect_s(what["last"], max_silence_s)

    def start(limits: Waits) -> Message:
        return {"command": what["command"], "first_line": what["first_line"], "stdout_bytes": STDOUT_BYTES}

    wishes = Wishes(
        max_silence_s=max_silence_s,
        connect_s=wait_connect,
        host_deadline_s=HEALTHY_S,
        start=start,
        keep=lambda home, progress: True,
        called_off=lambda: False,
        given_up=team.stopping.is_set,
    )
    job = {
        "hops": [pack_hop(hop) for hop in hops],
        "rules": [[rule.cidr, rule.port_from, rule.port_to] for rule in allowed],
        "patience": {"connect_s": wait_connect, "step_s": max_silence_s},
    }
    with team.server.child(SESSION, job) as child:
        return supervise(child, wishes)


def _timings(home: Homecoming) -> Json:
    """How slow the host was, in milliseconds.

    connect_ms: one TCP round trip. login_ms: until we were let in. fork_ms: from asking for a command to its
    first byte, which takes sshd and the login shell a fork each. rtt_ms: the shortest round trip to sshd.
    """
    raw = home.timings
    login = sum(raw.get(f"{step}_ms", 0.0) for step in ("banner", "kex", "auth", "channel"))
    known = {
        "connect_ms": raw.get("connect_ms"),
        "login_ms": round(login, 1) if "auth_ms" in raw else None,
        "fork_ms": raw.get("first_byte_ms"),
        "rtt_ms": round(min(home.round_trips_ms), 2) if home.round_trips_ms else None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _clock(home: Homecoming, facts: Mapping[str, object]) -> Json | None:
    record = facts.get("clock")
    if not isinstance(record, Mapping) or home.heard_ns is None:
        return None
    real = record.get("real")
    if not isinstance(real, str) or not is_digits(real):
        return None
    trip_ms = min(home.round_trips_ms, default=DEFAULT_ROUND_TRIP_MS)
    tied = server_offset([home.heard_ns - int(real)], trip_ms)
    assert tied is not None, "there is one reading"
    # A host that can only tell whole seconds may be that much further on.
    grain = record.get("res")
    grain_ns = int(grain) if isinstance(grain, str) and is_digits(grain) else 0
    offset, uncertainty = tied[0] - grain_ns // 2, tied[1] + grain_ns // 2
    if abs(offset) <= uncertainty:
        offset = 0
    return {"offset_ms": round(-offset / 1e6, 3), "uncertainty_ms": round(uncertainty / 1e6, 3)}


def _sentence(one: Sentence | None) -> Json | None:
    return {"key": one.key, "params": dict(one.params)} if one else None


def _report(preflight_id: UUID, host_id: UUID, home: Homecoming) -> str | None:
    """Facts, and what they mean for every collector, into the rows of the check and of the host."""
    facts = read(home.text.encode())
    verdicts = [
        asdict(one) | {"reason": _sentence(one.reason), "mend": _sentence(one.mend)}
        for one in assess(facts, COLLECTORS.values())
    ]
    found = [
        asdict(one) | {"reason": _sentence(one.reason), "mend": _sentence(one.mend)} for one in checks(facts)
    ]
    with unit_of_work(database().sessions) as session:
        host = session.get_one(Host, host_id)
        host.facts = (host.facts or {}) | facts
        host.facts_at = session.scalar(_now.select())
        host.machine_id = cast(str | None, facts.get("machine_id")) or host.machine_id
        host.boot_id = cast(str | None, facts.get("boot_id")) or host.boot_id
        keep(session, host_id, Source(PREFLIGHT, now_ns()), of_check(facts), whole=False)
    return _finish(
        preflight_id,
        state="done",
        facts=facts,
        checks=found,
        collectors=verdicts,
        clock=_clock(home, facts),
        timings=_timings(home),
        failure=None,
    )


def _finish(preflight_id: UUID, *, state: str, **values: Any) -> str | None:
    """Ends the check if nobody else has."""
    if state != "queued":
        values["ended_at"] = _now
    with unit_of_work(database().sessions) as session:
        done = session.execute(
            update(Preflight)
            .where(Preflight.id == preflight_id, Preflight.state == "running")
            .values(state=state, **values)
            .returning(Preflight.id)
        ).first()
    return state if done else None
