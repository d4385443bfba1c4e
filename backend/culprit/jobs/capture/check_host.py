"""The job that checks a host before a capture. It only reads on the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast
from uuid import UUID

import structlog
from sqlalchemy import func, update
from sqlalchemy.orm import Session

from collectors.contract import Sentence
from collectors.parse.proc.preflight import parse_preflight
from collectors.registry import COLLECTORS
from collectors.runner import program as bundle
from collectors.runner.host_values import is_digits
from collectors.runner.preflight import PROGRAM, assess_collectors, list_checks
from culprit.accounts.actor import find_actor
from culprit.accounts.authorization import authorize
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.domain.hosts.fact_names import list_preflight_facts
from culprit.domain.runs.timeouts import Timeouts
from culprit.hosts.access import build_hops, get_sudo_password
from culprit.infra.db.clock import now_ns
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.preflight import Preflight
from culprit.infra.network.addresses import AddressRule
from culprit.infra.sandbox.fork_server import HangupError, Message
from culprit.infra.ssh.connection import SshHop
from culprit.infra.vault import SecretUnreadableError
from culprit.jobs.capture.queries import load_last_timings, pending_checks
from culprit.jobs.capture.session import pack_hop
from culprit.jobs.capture.session_clock import estimate_server_offset
from culprit.jobs.capture.session_result import SessionResult
from culprit.jobs.capture.session_spec import RunRefusedError, require_not_stopped
from culprit.jobs.capture.session_supervisor import (
    ChildDiedError,
    LeaseLostError,
    SupervisorOptions,
    compute_first_connect_s,
    supervise_session,
)
from culprit.jobs.capture.ssh_pool import SESSION, SshPool, get_ssh_pool
from culprit.jobs.ingest.store_facts import PREFLIGHT, FactReader, store_facts
from culprit.jobs.job import Job
from culprit.json_types import Json
from culprit.web.errors import CulpritError

HEALTHY_S = 15.0
STDOUT_BYTES = 1 << 20
DEFAULT_ROUND_TRIP_MS = 200.0
log = structlog.get_logger("culprit.check_host")
_now = func.clock_timestamp()


def check_host(preflight_id: UUID) -> str | None:
    """Run one preflight check. Return its state, or None if another worker runs it."""
    pool = get_ssh_pool()
    pool.start()
    with unit_of_work(get_database().sessions) as session:
        host_id = session.scalar(
            update(Preflight)
            .where(Preflight.id == preflight_id, Preflight.state == "queued")
            .values(state="running")
            .returning(Preflight.host_id)
        )
        if host_id is None:
            return None
    try:
        with unit_of_work(get_database().sessions) as session:
            visit = _build_spec(session, preflight_id, host_id)
        result = _run_session(pool, *visit)
    except RunRefusedError as refusal:
        return _finish(preflight_id, state="failed", failure=refusal.sentence)
    except (LeaseLostError, ChildDiedError, HangupError):
        return _finish(
            preflight_id,
            state="queued" if pool.stopping.is_set() else "failed",
            failure={"key": "preflight.lost", "params": {}},
        )
    if result.failure is not None:
        timings = _compute_timings(result)
        return _finish(preflight_id, state="failed", failure=result.failure_message, timings=timings)
    return _store_result(preflight_id, host_id, result)


def _build_spec(
    session: Session, preflight_id: UUID, host_id: UUID
) -> tuple[tuple[SshHop, ...], tuple[AddressRule, ...], Json]:
    """Return the hops, the network rules and the command. Raises RunRefusedError if the permission was lost."""
    host = session.get_one(Host, host_id)
    requested_by = session.get_one(Preflight, preflight_id).requested_by
    actor = find_actor(session, requested_by)
    if requested_by is not None and actor is None:
        raise RunRefusedError({"key": "run.requester_gone", "params": {}})
    require_not_stopped(session, host)
    try:
        if actor is not None:
            authorize(actor, "host.check", host)
        hops, allowed, password = (
            build_hops(session, host),
            load_network_rules(session),
            get_sudo_password(host),
        )
    except CulpritError as error:
        raise RunRefusedError(error.sentence) from error
    except SecretUnreadableError as error:
        raise RunRefusedError({"key": "run.secret_unreadable", "params": {"host": host.name}}) from error
    program = PROGRAM + f"# {bundle.END_MARK}\n".encode()
    return (
        hops,
        allowed,
        {
            "command": bundle.build_command(program, sudo=cast(bundle.Sudo, host.sudo)),
            "first_line": password,
            "max_silence_s": float(host.max_silence_s),
            "last": load_last_timings(session, host),
        },
    )


def _run_session(
    pool: SshPool, hops: tuple[SshHop, ...], allowed: tuple[AddressRule, ...], what: Json
) -> SessionResult:
    max_silence_s = what["max_silence_s"]
    wait_connect = compute_first_connect_s(what["last"], max_silence_s)

    def start(limits: Timeouts) -> Message:
        return {"command": what["command"], "first_line": what["first_line"], "stdout_bytes": STDOUT_BYTES}

    options = SupervisorOptions(
        max_silence_s=max_silence_s,
        connect_s=wait_connect,
        host_deadline_s=HEALTHY_S,
        start=start,
        renew=lambda result, progress: True,
        is_canceled=lambda: False,
        is_stopping=pool.stopping.is_set,
    )
    job = {
        "hops": [pack_hop(hop) for hop in hops],
        "rules": [[rule.cidr, rule.port_from, rule.port_to] for rule in allowed],
        "timeouts": {"connect_s": wait_connect, "step_s": max_silence_s},
    }
    with pool.server.child(SESSION, job) as child:
        return supervise_session(child, options)


def _compute_timings(result: SessionResult) -> Json:
    """Return the timings of the host in milliseconds.

    connect_ms: one TCP round trip. login_ms: until the login succeeded. fork_ms: from requesting a command to
    its first byte, which needs one fork each of sshd and the login shell. rtt_ms: the shortest round trip to
    sshd.
    """
    raw = result.connection.timings
    login = sum(raw.get(f"{step}_ms", 0.0) for step in ("banner", "kex", "auth", "channel"))
    known = {
        "connect_ms": raw.get("connect_ms"),
        "login_ms": round(login, 1) if "auth_ms" in raw else None,
        "fork_ms": raw.get("first_byte_ms"),
        "rtt_ms": round(min(result.connection.round_trips_ms), 2)
        if result.connection.round_trips_ms
        else None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _compute_clock(result: SessionResult, facts: Mapping[str, object]) -> Json | None:
    record = facts.get("clock")
    if not isinstance(record, Mapping) or result.preflight.clock_received_ns is None:
        return None
    real = record.get("real")
    if not isinstance(real, str) or not is_digits(real):
        return None
    trip_ms = min(result.connection.round_trips_ms, default=DEFAULT_ROUND_TRIP_MS)
    tied = estimate_server_offset([result.preflight.clock_received_ns - int(real)], trip_ms)
    assert tied is not None, "there is one reading"
    # A host that reports whole seconds may be up to one second ahead.
    grain = record.get("res")
    grain_ns = int(grain) if isinstance(grain, str) and is_digits(grain) else 0
    offset, uncertainty = tied[0] - grain_ns // 2, tied[1] + grain_ns // 2
    if abs(offset) <= uncertainty:
        offset = 0
    return {"offset_ms": round(-offset / 1e6, 3), "uncertainty_ms": round(uncertainty / 1e6, 3)}


def _sentence_to_json(sentence: Sentence | None) -> Json | None:
    return {"key": sentence.key, "params": dict(sentence.params)} if sentence else None


def _store_result(preflight_id: UUID, host_id: UUID, result: SessionResult) -> str | None:
    """Store the facts and the readiness of each collector in the check and the host."""
    facts = parse_preflight(result.preflight.text.encode())
    verdicts = [
        asdict(item) | {"reason": _sentence_to_json(item.reason), "remedy": _sentence_to_json(item.remedy)}
        for item in assess_collectors(facts, COLLECTORS.values())
    ]
    checks = [
        asdict(check) | {"reason": _sentence_to_json(check.reason), "remedy": _sentence_to_json(check.remedy)}
        for check in list_checks(facts)
    ]
    with unit_of_work(get_database().sessions) as session:
        host = session.get_one(Host, host_id)
        host.facts = (host.facts or {}) | facts
        host.facts_at = session.scalar(_now.select())
        host.machine_id = cast(str | None, facts.get("machine_id")) or host.machine_id
        host.boot_id = cast(str | None, facts.get("boot_id")) or host.boot_id
        store_facts(
            session, host_id, FactReader(PREFLIGHT, now_ns()), list_preflight_facts(facts), whole=False
        )
    return _finish(
        preflight_id,
        state="done",
        facts=facts,
        checks=checks,
        collectors=verdicts,
        clock=_compute_clock(result, facts),
        timings=_compute_timings(result),
        failure=None,
    )


def _finish(preflight_id: UUID, *, state: str, **values: Any) -> str | None:
    """End the check if it is still running."""
    if state != "queued":
        values["ended_at"] = _now
    with unit_of_work(get_database().sessions) as session:
        done = session.execute(
            update(Preflight)
            .where(Preflight.id == preflight_id, Preflight.state == "running")
            .values(state=state, **values)
            .returning(Preflight.id)
        ).first()
    return state if done else None


JOB = Job("culprit.check_host", "ssh", check_host, pending_checks)
