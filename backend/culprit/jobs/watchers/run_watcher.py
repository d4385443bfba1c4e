"""Run one watcher on one host: claim it, log in, watch, and start conditional captures. Called by the worker.

The SSH session is like that of a capture, with its own kind of lease on the host and in the database. No
transaction is open during the session. The lease and cancellation are checked all the time; permissions when
a capture starts.
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

from collectors.runner import lookback, watcher
from collectors.runner import program as bundle
from collectors.runner.watcher import ConditionMatch, LookbackBuffer, WatcherCondition, WatcherStatus
from culprit.accounts.actor import find_actor
from culprit.accounts.authorization import authorize
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.automation.watchers import locks
from culprit.automation.watchers.locks import WatcherLease
from culprit.automation.watchers.service import ACTIONS, get_capture_tier, require_stacks_permitted
from culprit.domain.hosts.watcher_readings import (
    HEALTHY_AFTER_S,
    STEP_S,
    WatcherReadings,
    compute_retry_delay_s,
)
from culprit.domain.runs.timeouts import Timeouts
from culprit.hosts.access import build_hops, get_sudo_password
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.hosts.host import Host
from culprit.infra.sandbox.fork_server import HangupError, Message
from culprit.infra.settings import get_settings
from culprit.infra.vault import SecretUnreadableError
from culprit.jobs.capture.queries import load_last_timings
from culprit.jobs.capture.session import pack_hop
from culprit.jobs.capture.session_result import SessionResult
from culprit.jobs.capture.session_spec import RunRefusedError, require_not_stopped
from culprit.jobs.capture.session_supervisor import (
    ChildDiedError,
    LeaseLostError,
    SupervisorOptions,
    compute_first_connect_s,
    supervise_session,
)
from culprit.jobs.capture.spool import Spool
from culprit.jobs.capture.ssh_pool import SESSION, SshPool, get_ssh_pool
from culprit.jobs.watchers.start_conditional_capture import is_lookback_collected, start_conditional_capture
from culprit.json_types import Json
from culprit.web.errors import CulpritError

BUSY_PAUSE = timedelta(seconds=30)
RENEW_EVERY_S = 5.0
STDOUT_BYTES = 8 << 20
#: A deadline closer than this counts as reached.
DEADLINE_TOLERANCE_S = 2.0
log = structlog.get_logger("culprit.run_watcher")


@dataclass(slots=True)
class WatcherSession:
    """One SSH session of a watcher: its settings as of the start, and its state. Has no secrets."""

    lease: WatcherLease
    number: int
    kind: str
    host_id: UUID
    expires_at: datetime
    lookback: LookbackBuffer
    conditions: tuple[WatcherCondition, ...]
    sudo: bundle.Sudo
    max_silence_s: float
    readings: WatcherReadings = field(default_factory=WatcherReadings)
    watching_since_s: float = 0.0
    renewed_s: float = 0.0
    is_exhausted: bool = False
    is_finished: bool = False


def run_watcher(watcher_id: UUID) -> str | None:
    """Run one watcher until it ends. Return its state, or None if another worker has it."""
    pool = get_ssh_pool()
    pool.start()
    with unit_of_work(get_database().sessions) as session:
        lease = locks.claim_watcher(session, watcher_id, pool.name)
    if lease is None:
        return None
    pool.register_watcher(watcher_id)
    spool = Spool.create(get_settings().home, watcher_id, lease.fence)
    try:
        return _run_watch(pool, lease, spool)
    finally:
        pool.unregister(watcher_id)
        spool.discard()


def _run_watch(pool: SshPool, lease: WatcherLease, spool: Spool) -> str | None:
    try:
        with unit_of_work(get_database().sessions) as session:
            watch, job, password = _prepare_session(session, lease)
        result = _run_session(pool, watch, {**job, "spool": str(spool.directory)}, password)
        return _finish_watch(watch, result)
    except RunRefusedError as refusal:
        with unit_of_work(get_database().sessions) as session:
            finished = locks.finish_watcher(session, lease, refusal.state, failure=refusal.sentence)
            return refusal.state if finished else None
    except (LeaseLostError, ChildDiedError) as error:
        log.info("watcher_session_lost", watcher=str(lease.watcher_id), error=type(error).__name__)
        if isinstance(error, LeaseLostError) and not pool.stopping.is_set():
            return None
        with unit_of_work(get_database().sessions) as session:
            reason = {"key": "watcher.worker_stopped", "params": {}}
            requeued = locks.requeue_watcher(
                session, lease, timedelta(0), reason, interruption_count=Watcher.interruption_count + 1
            )
            return "waiting" if requeued else None


def _prepare_session(session: Session, lease: WatcherLease) -> tuple[WatcherSession, Json, str | None]:
    """Return the session, its job and the sudo password. Checks permissions again; raises RunRefusedError."""
    row = session.get_one(Watcher, lease.watcher_id)
    host = row.host
    if host.state != "active":
        raise RunRefusedError({"key": "host.not_active", "params": {"host": host.name}})
    require_not_stopped(session, host)
    actor = find_actor(session, row.requested_by)
    if actor is None:
        raise RunRefusedError({"key": "run.requester_gone", "params": {}})
    try:
        authorize(actor, ACTIONS[row.kind], host)
        if row.kind == "conditional":
            authorize(actor, f"capture.{get_capture_tier(row)}", host)
        if row.stacks:
            require_stacks_permitted(session, actor, host)
        hops, allowed, password = (
            build_hops(session, host),
            load_network_rules(session),
            get_sudo_password(host),
        )
        conditions = tuple(WatcherCondition.from_json(condition) for condition in row.conditions)
    except CulpritError as error:
        raise RunRefusedError(error.sentence) from error
    except SecretUnreadableError as error:
        raise RunRefusedError({"key": "run.secret_unreadable", "params": {"host": host.name}}) from error
    except ValueError as error:
        raise RunRefusedError(
            {"key": "capture.no_longer_valid", "params": {"what": str(error)[:200]}}
        ) from error
    watch = WatcherSession(
        lease,
        row.number,
        row.kind,
        host.id,
        row.expires_at,
        LookbackBuffer(row.lookback_s, row.lookback_bytes, lookback.FILES, row.stacks),
        conditions,
        cast(bundle.Sudo, host.sudo),
        float(host.max_silence_s),
    )
    connect_s = compute_first_connect_s(load_last_timings(session, host), watch.max_silence_s)
    job = {
        "hops": [pack_hop(hop) for hop in hops],
        "rules": [[rule.cidr, rule.port_from, rule.port_to] for rule in allowed],
        "timeouts": {"connect_s": connect_s, "step_s": watch.max_silence_s},
    }
    return watch, job, password


def _run_session(pool: SshPool, watch: WatcherSession, job: Json, password: str | None) -> SessionResult:
    watcher_id = watch.lease.watcher_id

    def start(limits: Timeouts) -> Message:
        return _build_command(watch, limits, password)

    wishes = SupervisorOptions(
        max_silence_s=watch.max_silence_s,
        connect_s=job["timeouts"]["connect_s"],
        host_deadline_s=_compute_remaining_s(watch),
        start=start,
        renew=lambda home, progress: _renew_periodically(watch),
        is_canceled=lambda: watch.is_finished or pool.is_canceled(watcher_id),
        is_stopping=pool.stopping.is_set,
        on_line=lambda line: _handle_line(watch, line),
    )
    try:
        with pool.server.child(SESSION, job) as child:
            return supervise_session(child, wishes)
    except HangupError as error:
        raise ChildDiedError from error


def _compute_remaining_s(watch: WatcherSession) -> float:
    return max(1.0, (watch.expires_at - utc_now()).total_seconds())


def _build_command(watch: WatcherSession, limits: Timeouts, password: str | None) -> Message:
    """Store the session spec and return the command for the host. Raises RunRefusedError, LeaseLostError.

    The deadline is `expires_at`, however long the login took.
    """
    bounds = watcher.build_limits(
        str(new_uuid7()),
        watch.kind,
        max(1, int(_compute_remaining_s(watch))),
        round(limits.runner_silence_s),
        watch.lookback,
    )
    program = watcher.build_program(watch.lookback, watch.conditions, bounds)
    sha256 = artifact_store().put([program], len(program)).sha256
    spec = {"limits": asdict(bounds), "program_sha256": sha256, "program_bytes": len(program)}
    with unit_of_work(get_database().sessions) as session:
        host = session.get(Host, watch.host_id)
        if host is not None:
            require_not_stopped(session, host)
        if not locks.renew_lease(session, watch.lease, session_spec=spec):
            raise LeaseLostError
    return {
        "command": bundle.build_command(program, sudo=watch.sudo),
        "first_line": password,
        "stdout_bytes": STDOUT_BYTES,
    }


def _handle_line(watch: WatcherSession, line: str) -> None:
    """Handle one line from the host. The host is not trusted: a line can only start the capture of this watcher."""
    report = watcher.parse_line(line)
    try:
        if isinstance(report, WatcherStatus):
            watch.readings.add_report(report)
            if not watch.watching_since_s:
                watch.watching_since_s = time.monotonic()
                _renew_watch(watch, started_at=utc_now(), failure_count=0)
        elif (
            isinstance(report, ConditionMatch)
            and watch.kind == "conditional"
            and report.number <= len(watch.conditions)
        ):
            condition = watch.conditions[report.number - 1]
            watch.is_exhausted = start_conditional_capture(watch.lease, condition, report.value)
        elif watch.lookback.stacks and line.startswith(watcher.NO_STACKS):
            _renew_watch(watch, wait_reason={"key": "watcher.no_stacks", "params": {}})
    except DBAPIError as error:
        log.warning("watcher_line_lost", watcher=watch.number, line=line[:20], error=type(error).__name__)


def _renew_periodically(watch: WatcherSession) -> bool:
    """Renew the lease every few seconds; return False if it was lost.

    After the last capture, the watcher stays until that capture has collected the look-back buffer.
    """
    at = time.monotonic()
    if at - watch.renewed_s < RENEW_EVERY_S:
        return True
    watch.renewed_s = at
    try:
        if watch.is_exhausted:
            watch.is_finished = is_lookback_collected(watch.lease)
        return _renew_watch(watch)
    except DBAPIError as error:
        log.warning("database_away", error=type(error).__name__)
        return True


def _renew_watch(watch: WatcherSession, **values: Any) -> bool:
    """Renew the lease and store `values`, the cost and the last readings."""
    cost = watch.readings.compute_cost()
    if cost is not None:
        condition_values = watch.readings.list_values(len(watch.conditions))
        values |= {
            "cost": cost,
            "readings": {"at": datetime.now(UTC).isoformat(), "step_s": STEP_S, "values": condition_values},
        }
    with unit_of_work(get_database().sessions) as session:
        return locks.renew_lease(session, watch.lease, **values)


def _finish_watch(watch: WatcherSession, result: SessionResult) -> str | None:
    """Store what follows from the end of the session; return the state, or None if the lease was lost."""
    with unit_of_work(get_database().sessions) as session:
        row = locks.lock_owned_watcher(session, watch.lease)
        if row is None:
            return None
        state, values = _decide_next_state(watch, row, result)
        if state != "waiting":
            return state if locks.finish_watcher(session, watch.lease, state, **values) else None
        pause = values.pop("pause")
        requeued = locks.requeue_watcher(session, watch.lease, pause, values.pop("reason"), **values)
        return "waiting" if requeued else None


def _decide_next_state(watch: WatcherSession, row: Watcher, result: SessionResult) -> tuple[str, Json]:
    end = result.output.end or {}
    if row.cancel_requested_at is not None:
        return "canceled", {}
    if watch.is_finished:
        return "completed", {}
    if end.get("why") == "deadline" or _compute_remaining_s(watch) <= DEADLINE_TOLERANCE_S:
        return "expired", {}
    if result.output.busy is not None:
        reason = {"key": "watcher.host_busy", "params": {"host": row.host.name}}
        return "waiting", {"pause": BUSY_PAUSE, "reason": reason}
    if result.output.refusal is not None:
        return "failed", {
            "failure": {"key": "run.host_refused", "params": _truncate_facts(result.output.refusal)}
        }
    failure = result.failure_message or {
        "key": "watcher.process_ended",
        "params": {"host": row.host.name, "status": str(end.get("watcher", "-"))[:20]},
    }
    was_stable = bool(watch.watching_since_s) and time.monotonic() - watch.watching_since_s > HEALTHY_AFTER_S
    failure_count = 1 if was_stable else row.failure_count + 1
    is_final = result.failure is not None and result.failure.is_final
    pause_s = None if is_final else compute_retry_delay_s(failure_count)
    if pause_s is None:
        return "failed", {"failure": failure}
    return "waiting", {
        "pause": timedelta(seconds=pause_s),
        "reason": failure,
        "failure_count": failure_count,
        "interruption_count": row.interruption_count + 1,
    }


def _truncate_facts(facts: Json) -> Json:
    return {str(name)[:40]: str(value)[:100] for name, value in list(facts.items())[:8]}
