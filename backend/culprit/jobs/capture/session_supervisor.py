"""Supervise one session from outside: limits, cancellation and a lost lease.

The child may hang anywhere; nothing here waits longer than the limit of its stage. The lease is renewed while
the host sends data or a login may still take time, never by a timer alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from culprit.domain.runs.timeouts import Timeouts, compute_connect_timeout_s, compute_timeouts
from culprit.infra.sandbox.fork_server import Child, HangupError, Message
from culprit.infra.ssh.errors import FINAL, TIMEOUT_KIND, Stage
from culprit.jobs.capture.session_messages import (
    ProgressMessage,
    SessionMessage,
    WorkerMessage,
    receive_from_session,
    send_to_session,
)
from culprit.jobs.capture.session_result import PreflightOutput, SessionFailure, SessionResult
from culprit.json_types import Json

POLL_EVERY_S = 0.25
log = structlog.get_logger("culprit.supervise")
STAGE_MARGIN_S = 2.0
RENEW_EVERY_S = 3.0
#: Collectors change state in bursts; each burst is one transaction and one update.
UPDATE_EVERY_S = 0.5
CANCEL_LIMIT_S = 4.0
#: How long to read messages that were sent before a limit passed.
DRAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class SupervisorOptions:
    """The limits and callbacks of a session.

    Attributes:
        start: builds the start message once the speed of the host is known.
        renew: receives the intermediate result every few seconds; returns whether to continue.
        is_canceled, is_stopping: checked several times a second.
        on_line: receives each line of a watcher at once.
    """

    max_silence_s: float
    connect_s: float
    host_deadline_s: float
    start: Callable[[Timeouts], Message]
    renew: Callable[[SessionResult, Json], bool]
    is_canceled: Callable[[], bool]
    is_stopping: Callable[[], bool]
    on_line: Callable[[str], None] | None = None


class LeaseLostError(Exception):
    """The lease belongs to another worker, or this worker stops."""


class ChildDiedError(Exception):
    """The process of the session ended, not caused by the host."""


@dataclass(slots=True)
class _SessionState:
    child: Child
    options: SupervisorOptions
    result: SessionResult = field(default_factory=SessionResult)
    progress: Json = field(default_factory=dict)
    stage: Stage = "resolve"
    until: float = 0.0
    silence_s: float = 0.0
    total_until: float = 0.0
    cancel_until: float = 0.0
    kept_at: float = 0.0
    started_at: float = 0.0
    changed: bool = False


def supervise_session(child: Child, options: SupervisorOptions) -> SessionResult:
    """Follow a session to its end and return its result. The caller kills the child afterwards.

    Raises:
        LeaseLostError: the lease is lost, or this worker stops.
        ChildDiedError: the child ended without a last message.
    """
    state = _SessionState(child, options)
    state.kept_at = time.monotonic()
    _set_deadline(state, "resolve")
    while True:
        now = time.monotonic()
        try:
            message = receive_from_session(child.line, POLL_EVERY_S)
        except HangupError as error:
            raise ChildDiedError from error
        if message is not None and _handle_message(state, message):
            return state.result
        if _find_passed_limit(state, now) is not None and _read_remaining(state):
            return state.result
        if options.is_stopping():
            raise LeaseLostError
        if options.is_canceled() and not state.cancel_until:
            state.cancel_until = now + CANCEL_LIMIT_S
            state.result.canceled = True
            _send(state, {"kind": "cancel"})
        if now - state.kept_at >= (UPDATE_EVERY_S if state.changed else RENEW_EVERY_S):
            state.changed = False
            state.kept_at = now
            if not options.renew(state.result, state.progress):
                raise LeaseLostError
            _send(state, {"kind": "lease_held"})


def _send(state: _SessionState, message: WorkerMessage) -> None:
    try:
        send_to_session(state.child.line, message)
    except HangupError:
        return  # remaining messages are read first; the end is detected there


def _set_deadline(state: _SessionState, stage: Stage) -> None:
    """Set the deadline of a stage. The child has its own limits; these apply if it does not keep them."""
    options = state.options
    seconds = options.connect_s if stage == "connect" else options.max_silence_s
    state.stage, state.until = stage, time.monotonic() + seconds + STAGE_MARGIN_S


def _find_passed_limit(state: _SessionState, now: float) -> tuple[str, float] | None:
    """Return (kind of the exceeded limit, its length in seconds), or None. A cancellation has an empty kind."""
    if state.cancel_until and now > state.cancel_until:
        return "", 0.0
    if state.total_until and now > state.total_until:
        return "deadline", state.total_until - state.started_at
    if now > state.until:
        return TIMEOUT_KIND[state.stage], state.until - state.started_at
    return None


def _read_remaining(state: _SessionState) -> bool:
    """Read what the child sent before a limit passed; return whether the session is over."""
    try:
        until = time.monotonic() + DRAIN_S
        while time.monotonic() < until and (message := receive_from_session(state.child.line, 0)) is not None:
            if _handle_message(state, message):
                return True
    except HangupError:
        pass  # the limit was exceeded before: it is the reason of the end
    limit = _find_passed_limit(state, time.monotonic())
    if limit is None:
        return False
    kind, seconds = limit
    if kind:
        params = {"seconds": round(seconds)}
        state.result.failure = SessionFailure(f"ssh.{kind}", params, kind in FINAL)
    return True


def _handle_message(state: _SessionState, message: SessionMessage) -> bool:
    """Handle one message of the child; return whether it was the last."""
    result = state.result
    match message["kind"]:
        case "stage":
            state.started_at = time.monotonic()
            _set_deadline(state, message["stage"])
        case "ready":
            result.connection.timings |= message["timings"]
            _start_command(state)
        case "received":
            if message["bytes"] != result.connection.bytes:
                result.connection.bytes = message["bytes"]
                _handle_data(state)
        case "frame":
            result.output.add_frame(message["frame"])
            result.began = True
            state.changed = state.changed or message["frame"]["kind"] in ("outcome", "snapshot")
            _handle_data(state)
        case "progress":
            _update_progress(state, message)
            _handle_data(state)
        case "dropped":
            result.output.dropped = message["counts"]
        case "watcher_line":
            _handle_data(state)
            if state.options.on_line is not None:
                state.options.on_line(message["line"])
        case "ended":
            result.status = message["status"]
            result.connection.timings |= message["timings"]
            result.connection.round_trips_ms = message["round_trips_ms"]
            result.preflight = PreflightOutput(message.get("text", ""), message.get("clock_received_ns"))
            return True
        case "error":
            result.failure = SessionFailure(
                f"ssh.{message['error']}", message["params"], message["error"] in FINAL
            )
            return True
        case "disk_full":
            result.failure = SessionFailure("run.disk_full", {}, is_final=True, side="worker")
            return True
        case "bug":
            log.error("session_failed", trace=message["trace"])
            result.failure = SessionFailure("run.session_failed", {}, is_final=True)
            return True
    return False


def _update_progress(state: _SessionState, message: ProgressMessage) -> None:
    before = state.progress.get(message["collector"], {})
    is_running = message["state"] == "running"
    state.progress[message["collector"]] = {
        "state": message["state"],
        "elapsed_ms": message["elapsed_ms"],
        "started_ns": before.get("started_ns") or (time.time_ns() if is_running else None),
        "ended_ns": before.get("ended_ns") or (None if is_running else time.time_ns()),
    }
    state.changed = state.changed or before.get("state") != message["state"]


def _start_command(state: _SessionState) -> None:
    """Start the command: after the login the speed of the host is known."""
    timings = state.result.connection.timings
    login_s = sum(timings.get(f"{name}_ms", 0.0) for name in ("banner", "kex", "auth")) / 1000
    limits = compute_timeouts(
        state.options.host_deadline_s,
        timings.get("connect_ms", 0.0) / 1000,
        login_s,
        state.options.max_silence_s,
    )
    start_message = state.options.start(limits)
    start_message |= {"beat_s": limits.beat_s, "silence_s": limits.silence_s, "total_s": limits.total_s}
    _send(state, {"kind": "start", "order": start_message})
    state.result.began = True
    state.silence_s = limits.silence_s
    state.total_until = time.monotonic() + limits.total_s + 3 * state.options.max_silence_s
    _set_deadline(state, "channel")


def _handle_data(state: _SessionState) -> None:
    state.stage = "stream"
    state.started_at = time.monotonic()
    state.until = state.started_at + max(state.silence_s, 1.0) + STAGE_MARGIN_S + 1.0


def compute_first_connect_s(last_timings: Json, max_silence_s: float) -> float:
    """Compute the timeout of the TCP connection from the last connection."""
    last = last_timings.get("connect_ms")
    return compute_connect_timeout_s(last / 1000 if isinstance(last, int | float) else None, max_silence_s)
