"""One capture on one host: the task `culprit.run_capture`.

Claim, log in, run, bring home, commit. May be delivered any number of times and at any time: only the one
that claims does anything, and only as long as its fence is the run's. While a session lasts no transaction is
open.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.orm import Session

from collectors import bundle
from collectors.host_values import decimal
from culprit.captures import leases
from culprit.captures.leases import Claim
from culprit.config import settings
from culprit.core.patience import Waits
from culprit.core.retries import Tried, pause_s
from culprit.infra.artifacts import artifact_store
from culprit.infra.broker import announce
from culprit.infra.db import database
from culprit.infra.forkserver import Hungup, Message
from culprit.infra.progress import publisher
from culprit.kit.unit_of_work import after_commit, unit_of_work
from culprit.models import Host, Run
from culprit.workflows.clocks import clock_of_session
from culprit.workflows.crew import SESSION, Crew, crew
from culprit.workflows.homecoming import Homecoming, adopt, commit
from culprit.workflows.orders import Order, Refused, capture_order, refuse_stopped
from culprit.workflows.session import pack_hop
from culprit.workflows.spool import Spool
from culprit.workflows.supervise import Died, Lost, Wishes, first_connect_s, supervise

BUSY_PAUSE = timedelta(seconds=5)
COMMIT_TRIES_S = 600.0
FRAME_OVERHEAD = 8 << 20
#: What data from a host raises on its way into the database; neither the worker nor the database is at fault.
UNSTORABLE = (DataError, ValueError, ArithmeticError)
Json = dict[str, Any]
log = structlog.get_logger("culprit.run_capture")


def run_capture(run_id: UUID) -> str | None:
    """Do one run. Returns the state that it was left in; None where it was not ours to do."""
    team = crew()
    team.start()
    with unit_of_work(database().sessions) as session:
        claim = leases.claim(session, run_id, team.name)
    if claim is None:
        return None
    team.begin(run_id)
    try:
        return _work(team, claim)
    finally:
        team.end(run_id)


def _work(team: Crew, claim: Claim) -> str | None:
    tell(claim)
    with unit_of_work(database().sessions) as session:
        try:
            order = capture_order(session, claim.run_id)
        except Refused as refusal:
            return _refuse(session, claim, refusal)
    spool = Spool.of(settings().home, claim.run_id, claim.fence)
    try:
        home = _session(team, claim, order, spool)
        return _settle(claim, order, home, spool)
    except Refused as refusal:
        with unit_of_work(database().sessions) as session:
            return _refuse(session, claim, refusal)
    except (Lost, Died) as error:
        log.info("run_given_up", run=str(claim.run_id), why=type(error).__name__)
        if team.stopping.is_set():
            return _hand_back(claim, order, losses=0)
        return _hand_back(claim, order, losses=1) if isinstance(error, Died) else None
    finally:
        spool.discard()


def _refuse(session: Session, claim: Claim, refusal: Refused) -> str | None:
    """Nothing was sent to the host, and nothing will be."""
    after_commit(session, lambda: tell(claim))
    left = leases.leave(session, claim, refusal.state, failure=refusal.sentence, failure_side="user")
    return refusal.state if left else None


def tell(claim: Claim) -> None:
    """Says that there is something new to see."""
    publisher().publish(claim.capture_id, "run", {"run": str(claim.run_id)})


def _session(team: Crew, claim: Claim, order: Order, spool: Spool) -> Homecoming:
    wait_connect = first_connect_s(order.last_timings, order.max_silence_s)

    def start(limits: Waits) -> Message:
        return _command(claim, order, limits)

    def keep(home: Homecoming, progress: Json) -> bool:
        return _keep(claim, order, home, progress)

    wishes = Wishes(
        max_silence_s=order.max_silence_s,
        connect_s=wait_connect,
        host_deadline_s=order.host_deadline_s,
        start=start,
        keep=keep,
        called_off=lambda: team.cancelled(claim.run_id),
        given_up=team.stopping.is_set,
    )
    job = {
        "hops": [pack_hop(hop) for hop in order.hops],
        "rules": [[rule.cidr, rule.port_from, rule.port_to] for rule in order.rules],
        "patience": {"connect_s": wait_connect, "step_s": order.max_silence_s},
        "spool": str(spool.directory),
    }
    try:
        with team.server.child(SESSION, job) as child:
            return supervise(child, wishes)
    except Hungup as error:
        raise Died from error


def _command(claim: Claim, order: Order, limits: Waits) -> Message:
    """The command for the host; what is sent is written down first, word for word.

    The login may have taken a while: whether anything may start at all is asked once more. Raises Refused.
    """
    bounds = bundle.Limits(
        run=str(claim.run_id), silence_s=round(limits.runner_silence_s), deadline_s=round(limits.deadline_s)
    )
    program = bundle.build(list(order.jobs), bounds, order.scope)
    sha256 = artifact_store().put([program], len(program)).sha256
    spec = {
        "collectors": [
            {"id": job.id, "seconds": job.seconds, "options": dict(job.options)} for job in order.jobs
        ],
        "scope": order.scope.to_json(),
        "limits": asdict(bounds) | {"server_silence_s": limits.silence_s, "total_s": limits.total_s},
        "sudo": order.sudo,
        "program_sha256": sha256,
        "program_bytes": len(program),
        "attempt": claim.attempt,
    }
    with unit_of_work(database().sessions) as session:
        host = session.get(Host, order.host_id)
        if host is not None:
            refuse_stopped(session, host)
        if leases.renew(session, claim, spec=spec) is None:
            raise Lost
    return {
        "command": bundle.command(program, sudo=order.sudo),
        "first_line": order.sudo_password,
        "stdout_bytes": order.max_bytes + FRAME_OVERHEAD,
        "collectors": {job.id: job.max_bytes for job in order.jobs},
    }


def _keep(claim: Claim, order: Order, home: Homecoming, progress: Json) -> bool:
    """Renews the lease and notes how far things are; False where the run is no longer ours.

    While the database is away nobody else can take the run either, so the session goes on.
    """
    planned = {job.id: job.seconds * 1000 for job in order.jobs}
    noted = {
        name: {
            "state": one["state"],
            "started_ns": one["started_ns"],
            "ended_ns": one["ended_ns"],
            "elapsed_ms": _elapsed_ms(one),
            "planned_ms": planned.get(name, 0),
            "bytes": home.outcomes.get(name, {}).get("bytes", 0),
        }
        for name, one in progress.items()
    }
    try:
        with unit_of_work(database().sessions) as session:
            held = leases.renew(session, claim, progress=noted, bytes=home.bytes)
    except DBAPIError as error:
        log.warning("database_away", error=type(error).__name__)
        return True
    tell(claim)
    return held is not None


def _elapsed_ms(one: Json) -> float:
    """How long a collector has been running. The host says only how long its runner has."""
    if one["state"] != "running" or one["started_ns"] is None:
        return float(one["elapsed_ms"])
    return max(0, time.time_ns() - int(one["started_ns"])) / 1e6


def _settle(claim: Claim, order: Order, home: Homecoming, spool: Spool) -> str | None:
    """Commits what came home, however long the database is away."""
    home.timings = _timings(home)
    try:
        clock = clock_of_session(home)
    except UNSTORABLE as error:
        log.error("clock_not_readable", run=str(claim.run_id), error=type(error).__name__, exc_info=True)
        home, clock = home.without_details(), None
    adopt(artifact_store(), home)
    plan = _decide(order, home)
    if plan["do"] == "ingest":
        home.failure = home.failure or home.quality_note()
    spool.keep({"home": home.as_json(), "clock": clock, "plan": plan, "claim": _claim_json(claim)})
    until = time.monotonic() + COMMIT_TRIES_S
    while True:
        try:
            return settle_safely(claim, home, clock, plan)
        except DBAPIError as error:
            if time.monotonic() > until:
                raise
            log.warning("evidence_in_hand", run=str(claim.run_id), error=type(error).__name__)
            time.sleep(1)


def settle_safely(claim: Claim, home: Homecoming, clock: Json | None, plan: Json) -> str | None:
    """Commit as `settle_once` does; what cannot be stored because of its data is stored without its details.

    Trying again would bring the same data, from one more login: there is no second attempt. Raises DBAPIError where
    the database is away.
    """
    try:
        return settle_once(claim, home, clock, plan)
    except UNSTORABLE as error:
        log.error("host_data_unstorable", run=str(claim.run_id), error=type(error).__name__, exc_info=True)
    bare = home.without_details()
    try:
        return settle_once(claim, bare, None, plan if plan["do"] in ("ingest", "cancel") else {"do": "fail"})
    except UNSTORABLE:
        with unit_of_work(database().sessions) as session:
            after_commit(session, lambda: tell(claim))
            left = leases.leave(session, claim, "failed", failure=bare.failure, failure_side="host")
            return "failed" if left else None


def _claim_json(claim: Claim) -> Json:
    return {"capture_id": str(claim.capture_id), "attempt": claim.attempt}


def _timings(home: Homecoming) -> dict[str, float]:
    """Milliseconds by step, the round trips, and how long the host took to fork, if it said so."""
    timings = dict(home.timings)
    steps = ("banner_ms", "kex_ms", "auth_ms", "channel_ms", "exec_ms")
    timings["login_ms"] = round(sum(timings.get(step, 0.0) for step in steps), 1)
    if home.round_trips_ms:
        timings["rtt_ms"] = round(min(home.round_trips_ms), 2)
        timings["rtt_max_ms"] = round(max(home.round_trips_ms), 2)
    fork_ms = decimal(home.hello.get("fork_ms", ""))
    return timings if fork_ms is None else {**timings, "fork_ms": fork_ms}


def _decide(order: Order, home: Homecoming) -> Json:
    """What becomes of the run, so that it can be written down: {"do": wait|retry|fail|cancel|ingest, …}."""
    if home.cancelled:
        return {"do": "cancel"}
    if home.busy is not None and not home.brought_something:
        return {"do": "wait", "why": {"key": "run.host_busy", "params": _short(home.busy)}}
    if home.refusal is not None and not home.brought_something:
        home.failure = {"key": "run.host_refused", "params": _short(home.refusal)}
        return {"do": "fail"}
    if home.brought_something:
        return {"do": "ingest"}
    return {"do": "retry", "tier": order.tier, "begun": home.began, "final": home.final}


def _short(facts: Json) -> Json:
    return {str(name)[:40]: str(value)[:100] for name, value in list(facts.items())[:8]}


def settle_once(claim: Claim, home: Homecoming, clock: Json | None, plan: Json) -> str | None:
    """One try to commit; returns the new state, None where the run is no longer ours. Raises DBAPIError."""
    with unit_of_work(database().sessions) as session:
        after_commit(session, lambda: tell(claim))
        what = plan["do"]
        if what == "ingest":
            done = commit(session, claim, home, "ingesting", clock)
            if done:
                announce(session, "culprit.ingest_run", claim.run_id)
            return "ingesting" if done else None
        if what == "cancel":
            return "cancelled" if commit(session, claim, home, "cancelled", clock) else None
        if what == "fail":
            return "failed" if commit(session, claim, home, "failed", clock) else None
        run = session.get_one(Run, claim.run_id)
        if what == "wait":
            return leases.put_back(session, claim, BUSY_PAUSE, plan["why"], attempt=Run.attempt - 1)
        failures = run.host_failures + 1
        pause = pause_s(
            Tried("host", plan["tier"], run.worker_losses, failures, plan["begun"], final=plan["final"])
        )
        if pause is None:
            return "failed" if commit(session, claim, home, "failed", clock) else None
        return leases.put_back(
            session,
            claim,
            timedelta(seconds=pause),
            home.failure,
            host_failures=failures,
            timings=home.timings,
            failure=home.failure,
            failure_side="host",
        )


def _hand_back(claim: Claim, order: Order, losses: int) -> str | None:
    """The run goes to another worker or another try at once, unless it must not be repeated."""
    with unit_of_work(database().sessions) as session:
        after_commit(session, lambda: tell(claim))
        run = session.get_one(Run, claim.run_id)
        losses += run.worker_losses
        pause = pause_s(Tried("worker", order.tier, losses, run.host_failures, begun=True))
        if pause is None:
            why = {"key": "run.worker_stopped", "params": {"tier": order.tier}}
            failed = leases.leave(session, claim, "failed", failure=why, failure_side="worker")
            return "failed" if failed else None
        back = leases.put_back(session, claim, timedelta(seconds=pause), None, worker_losses=losses)
        if back == "queued":
            announce(session, "culprit.run_capture", claim.run_id)
        return back
