"""The job that runs one capture on one host.

It takes the lease, logs in, runs the collectors, stores their output and commits. Its message may arrive any
number of times: only the owner of the lease does anything, and only while its fence is current. No
transaction is open during a session.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import timedelta
from uuid import UUID

import structlog
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.orm import Session

from collectors.runner import program as bundle
from collectors.runner.host_values import read_decimal
from culprit.captures import locks as leases
from culprit.captures.locks import RunLease
from culprit.domain.runs.retries import AttemptHistory, compute_retry_pause_s
from culprit.domain.runs.timeouts import Timeouts
from culprit.infra.artifacts.blob_files import is_out_of_space
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import after_commit, unit_of_work
from culprit.infra.event_stream import get_event_publisher
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.sandbox.fork_server import HangupError, Message
from culprit.infra.settings import get_settings
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.capture.queries import pending_runs
from culprit.jobs.capture.session_clock import map_session_clock
from culprit.jobs.capture.session_result import SessionFailure, SessionResult, commit_result, store_artifacts
from culprit.jobs.capture.session_spec import (
    RunRefusedError,
    SessionSpec,
    build_session_spec,
    pack_session,
    require_not_stopped,
)
from culprit.jobs.capture.session_supervisor import (
    ChildDiedError,
    LeaseLostError,
    SupervisorOptions,
    compute_first_connect_s,
    supervise_session,
)
from culprit.jobs.capture.spool import Spool
from culprit.jobs.capture.ssh_pool import SESSION, SshPool, get_ssh_pool
from culprit.jobs.job import Job
from culprit.json_types import Json

BUSY_PAUSE = timedelta(seconds=5)
COMMIT_TRIES_S = 600.0
FRAME_OVERHEAD = 8 << 20
#: Errors that data of a host can cause when it is stored.
UNSTORABLE_ERRORS = (DataError, ValueError, ArithmeticError)
log = structlog.get_logger("culprit.run_capture")


def run_capture(run_id: UUID) -> str | None:
    """Run one run. Return the state that it is left in, or None if it is not due or owned by another worker."""
    pool = get_ssh_pool()
    pool.start()
    with unit_of_work(get_database().sessions) as session:
        claim = leases.claim_run(session, run_id, pool.name)
    if claim is None:
        return None
    pool.register_run(run_id)
    try:
        return _execute_run(pool, claim)
    finally:
        pool.unregister(run_id)


def _execute_run(pool: SshPool, claim: RunLease) -> str | None:
    publish_run_update(claim)
    with unit_of_work(get_database().sessions) as session:
        try:
            spec = build_session_spec(session, claim.run_id)
        except RunRefusedError as refusal:
            return _finish_refused(session, claim, refusal)
    try:
        spool = Spool.create(get_settings().home, claim.run_id, claim.fence)
    except OSError as error:
        return _finish_out_of_space(claim, error)
    try:
        result = _run_session(pool, claim, spec, spool)
        return _store_and_commit(claim, spec, result, spool)
    except OSError as error:
        return _finish_out_of_space(claim, error)
    except RunRefusedError as refusal:
        with unit_of_work(get_database().sessions) as session:
            return _finish_refused(session, claim, refusal)
    except (LeaseLostError, ChildDiedError) as error:
        log.info("run_given_up", run=str(claim.run_id), why=type(error).__name__)
        if pool.stopping.is_set():
            return _requeue_lost(claim, spec, losses=0)
        return _requeue_lost(claim, spec, losses=1) if isinstance(error, ChildDiedError) else None
    finally:
        spool.discard()


def _finish_refused(session: Session, claim: RunLease, refusal: RunRefusedError) -> str | None:
    """End a run that was refused. Nothing was sent to the host."""
    after_commit(session, lambda: publish_run_update(claim))
    left = leases.finish_run(session, claim, refusal.state, failure=refusal.sentence, failure_side="user")
    return refusal.state if left else None


def _finish_out_of_space(claim: RunLease, error: OSError) -> str | None:
    """End a run because this platform has no space to store it. Raises `error` if it has another reason."""
    if not is_out_of_space(error):
        raise error
    log.error("disk_full", run=str(claim.run_id), exc_info=error)
    with unit_of_work(get_database().sessions) as session:
        after_commit(session, lambda: publish_run_update(claim))
        failure = {"key": "run.disk_full", "params": {}}
        left = leases.finish_run(session, claim, "failed", failure=failure, failure_side="worker")
        return "failed" if left else None


def publish_run_update(claim: RunLease) -> None:
    """Publish that the run has changed."""
    get_event_publisher().publish(claim.capture_id, "run", {"run": str(claim.run_id)})


def _run_session(pool: SshPool, claim: RunLease, spec: SessionSpec, spool: Spool) -> SessionResult:
    wait_connect = compute_first_connect_s(spec.last_timings, spec.max_silence_s)

    def start(limits: Timeouts) -> Message:
        return _build_command(claim, spec, limits)

    def keep(result: SessionResult, progress: Json) -> bool:
        return _renew_run(claim, spec, result, progress)

    options = SupervisorOptions(
        max_silence_s=spec.max_silence_s,
        connect_s=wait_connect,
        host_deadline_s=spec.host_deadline_s,
        start=start,
        renew=keep,
        is_canceled=lambda: pool.is_canceled(claim.run_id),
        is_stopping=pool.stopping.is_set,
    )
    try:
        with pool.server.child(SESSION, pack_session(spec, spool, wait_connect)) as child:
            return supervise_session(child, options)
    except HangupError as error:
        raise ChildDiedError from error


def _build_command(claim: RunLease, spec: SessionSpec, limits: Timeouts) -> Message:
    """Build the command for the host, and record exactly what is sent.

    The login may have taken a while, so the kill switch and the lease are checked again. Raises RunRefusedError.
    """
    bounds = bundle.RunnerLimits(
        run=str(claim.run_id), silence_s=round(limits.runner_silence_s), deadline_s=round(limits.deadline_s)
    )
    program = bundle.build_program(list(spec.jobs), bounds, spec.scope)
    sha256 = artifact_store().put([program], len(program)).sha256
    sent = {
        "collectors": [
            {"id": job.id, "seconds": job.seconds, "options": dict(job.options)} for job in spec.jobs
        ],
        "scope": spec.scope.to_json(),
        "limits": asdict(bounds) | {"server_silence_s": limits.silence_s, "total_s": limits.total_s},
        "sudo": spec.sudo,
        "program_sha256": sha256,
        "program_bytes": len(program),
        "attempt": claim.attempt,
    }
    with unit_of_work(get_database().sessions) as session:
        host = session.get(Host, spec.host_id)
        if host is not None:
            require_not_stopped(session, host)
        if leases.renew_lease(session, claim, spec=sent) is None:
            raise LeaseLostError
    return {
        "command": bundle.build_command(program, sudo=spec.sudo),
        "first_line": spec.sudo_password,
        "stdout_bytes": spec.max_bytes + FRAME_OVERHEAD,
        "collectors": {job.id: job.max_bytes for job in spec.jobs},
    }


def _renew_run(claim: RunLease, spec: SessionSpec, result: SessionResult, progress: Json) -> bool:
    """Renew the lease and store the progress; return False if the lease is lost.

    While the database is unreachable, no other worker can take the run, so the session continues.
    """
    planned = {job.id: job.seconds * 1000 for job in spec.jobs}
    noted = {
        name: {
            "state": item["state"],
            "started_ns": item["started_ns"],
            "ended_ns": item["ended_ns"],
            "elapsed_ms": _compute_elapsed_ms(item),
            "planned_ms": planned.get(name, 0),
            "bytes": result.output.outcomes.get(name, {}).get("bytes", 0),
        }
        for name, item in progress.items()
    }
    try:
        with unit_of_work(get_database().sessions) as session:
            held = leases.renew_lease(session, claim, progress=noted, bytes=result.connection.bytes)
    except DBAPIError as error:
        log.warning("database_away", error=type(error).__name__)
        return True
    publish_run_update(claim)
    return held is not None


def _compute_elapsed_ms(item: Json) -> float:
    """Return how long a collector has been running. The host reports only the time of its runner."""
    if item["state"] != "running" or item["started_ns"] is None:
        return float(item["elapsed_ms"])
    return max(0, time.time_ns() - int(item["started_ns"])) / 1e6


def _store_and_commit(claim: RunLease, spec: SessionSpec, result: SessionResult, spool: Spool) -> str | None:
    """Store the artifacts and commit the result; retry while the database is unreachable."""
    result.connection.timings = _compute_timings(result)
    try:
        clock = map_session_clock(result)
    except UNSTORABLE_ERRORS as error:
        log.error("clock_not_readable", run=str(claim.run_id), error=type(error).__name__, exc_info=True)
        result, clock = result.without_details(), None
    store_artifacts(artifact_store(), result)
    plan = _decide_outcome(spec, result)
    if plan["do"] == "ingest":
        result.failure = result.failure or result.output.quality_failure()
    outcome = {"result": result.as_json(), "clock": clock, "plan": plan, "claim": _lease_to_json(claim)}
    try:
        spool.write_outcome(outcome)
    except OSError as error:
        # It only lets another worker commit if this one dies before it does.
        if not is_out_of_space(error):
            raise
        log.warning("outcome_not_spooled", run=str(claim.run_id))
    until = time.monotonic() + COMMIT_TRIES_S
    while True:
        try:
            return commit_safely(claim, result, clock, plan)
        except DBAPIError as error:
            if time.monotonic() > until:
                raise
            log.warning("evidence_in_hand", run=str(claim.run_id), error=type(error).__name__)
            time.sleep(1)


def commit_safely(claim: RunLease, result: SessionResult, clock: Json | None, plan: Json) -> str | None:
    """Commit as `commit_once` does; store data that the database refuses without its details.

    A second attempt would yield the same data and cost another login. Raises DBAPIError while the database is
    unreachable.
    """
    try:
        return commit_once(claim, result, clock, plan)
    except UNSTORABLE_ERRORS as error:
        log.error("host_data_unstorable", run=str(claim.run_id), error=type(error).__name__, exc_info=True)
    bare = result.without_details()
    try:
        return commit_once(claim, bare, None, plan if plan["do"] in ("ingest", "cancel") else {"do": "fail"})
    except UNSTORABLE_ERRORS:
        with unit_of_work(get_database().sessions) as session:
            after_commit(session, lambda: publish_run_update(claim))
            left = leases.finish_run(
                session, claim, "failed", failure=bare.failure_message, failure_side="host"
            )
            return "failed" if left else None


def _lease_to_json(claim: RunLease) -> Json:
    return {"capture_id": str(claim.capture_id), "attempt": claim.attempt}


def _compute_timings(result: SessionResult) -> dict[str, float]:
    """Return the milliseconds of each step, the round trips, and the fork time if the host reported it."""
    timings = dict(result.connection.timings)
    steps = ("banner_ms", "kex_ms", "auth_ms", "channel_ms", "exec_ms")
    timings["login_ms"] = round(sum(timings.get(step, 0.0) for step in steps), 1)
    if result.connection.round_trips_ms:
        timings["rtt_ms"] = round(min(result.connection.round_trips_ms), 2)
        timings["rtt_max_ms"] = round(max(result.connection.round_trips_ms), 2)
    fork_ms = read_decimal(result.output.hello.get("fork_ms", ""))
    return timings if fork_ms is None else {**timings, "fork_ms": fork_ms}


def _decide_outcome(spec: SessionSpec, result: SessionResult) -> Json:
    """Decide how the run continues, as JSON for the spool: {"do": wait|retry|fail|cancel|ingest, ...}."""
    if result.canceled:
        return {"do": "cancel"}
    if result.output.busy is not None and not result.output.has_output:
        return {"do": "wait", "why": {"key": "run.host_busy", "params": _truncate_facts(result.output.busy)}}
    if result.output.refusal is not None and not result.output.has_output:
        result.failure = SessionFailure("run.host_refused", _truncate_facts(result.output.refusal))
        return {"do": "fail"}
    if result.output.has_output:
        return {"do": "ingest"}
    is_final = result.failure is not None and result.failure.is_final
    return {"do": "retry", "tier": spec.tier, "begun": result.began, "final": is_final}


def _truncate_facts(facts: Json) -> Json:
    return {str(name)[:40]: str(value)[:100] for name, value in list(facts.items())[:8]}


def commit_once(claim: RunLease, result: SessionResult, clock: Json | None, plan: Json) -> str | None:
    """Try to commit once. Return the new state, or None if the lease is lost. Raises DBAPIError."""
    with unit_of_work(get_database().sessions) as session:
        after_commit(session, lambda: publish_run_update(claim))
        what = plan["do"]
        if what == "ingest":
            done = commit_result(session, claim, result, "ingesting", clock)
            if done:
                enqueue_after_commit(session, "culprit.ingest_run", claim.run_id)
            return "ingesting" if done else None
        if what == "cancel":
            return "canceled" if commit_result(session, claim, result, "canceled", clock) else None
        if what == "fail":
            return "failed" if commit_result(session, claim, result, "failed", clock) else None
        run = session.get_one(Run, claim.run_id)
        if what == "wait":
            return leases.requeue_run(session, claim, BUSY_PAUSE, plan["why"], attempt=Run.attempt - 1)
        failures = run.host_failures + 1
        pause = compute_retry_pause_s(
            AttemptHistory(
                "host", plan["tier"], run.worker_losses, failures, plan["begun"], final=plan["final"]
            )
        )
        if pause is None:
            return "failed" if commit_result(session, claim, result, "failed", clock) else None
        return leases.requeue_run(
            session,
            claim,
            timedelta(seconds=pause),
            result.failure_message,
            host_failures=failures,
            timings=result.connection.timings,
            failure=result.failure_message,
            failure_side="host",
        )


def _requeue_lost(claim: RunLease, spec: SessionSpec, losses: int) -> str | None:
    """Return the run to the queue at once, unless it must not be repeated."""
    with unit_of_work(get_database().sessions) as session:
        after_commit(session, lambda: publish_run_update(claim))
        run = session.get_one(Run, claim.run_id)
        losses += run.worker_losses
        pause = compute_retry_pause_s(
            AttemptHistory("worker", spec.tier, losses, run.host_failures, begun=True)
        )
        if pause is None:
            why = {"key": "run.worker_stopped", "params": {"tier": spec.tier}}
            failed = leases.finish_run(session, claim, "failed", failure=why, failure_side="worker")
            return "failed" if failed else None
        back = leases.requeue_run(session, claim, timedelta(seconds=pause), None, worker_losses=losses)
        if back == "queued":
            enqueue_after_commit(session, "culprit.run_capture", claim.run_id)
        return back


JOB = Job("culprit.run_capture", "ssh", run_capture, pending_runs)
