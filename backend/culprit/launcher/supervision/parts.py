"""State of the parts of a running platform, and the rules for restarts."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 30.0
# A part that ends this often within the window is given up.
MAX_FAILURES = 6
FAILURE_WINDOW_S = 300.0
# After this time without failure, earlier failures no longer count.
HEALTHY_S = 60.0
# Pause between attempts to start a part that was given up: a full disk or short memory may be over.
RETRY_FAILED_S = 600.0
# A restarted part must be ready within this time. PostgreSQL may have to replay its log first.
START_LIMIT_S = 180.0

State = Literal["ok", "restarting", "failed", "stopped"]
Change = Literal["ended", "given_up", "recovered", "stopped"]


@dataclass(slots=True)
class SupervisedPart:
    """One process and its state. `start_at` and `started` are monotonic, `since` is wall-clock seconds."""

    name: str
    state: State = "ok"
    since: float = field(default_factory=time.time)
    started: float = field(default_factory=time.monotonic)
    start_at: float | None = None
    restarts: int = 0
    failures: list[float] = field(default_factory=list)
    has_failed: bool = False
    exit_code: int | None = None
    is_out_of_memory: bool = False
    problem: str = ""
    log: list[str] = field(default_factory=list)

    def set_state(self, state: State) -> None:
        """Enter `state`; `since` changes with it."""
        if state != self.state:
            self.state, self.since = state, time.time()

    def record_end(
        self, code: int | None, log: list[str], *, problem: str = "", is_out_of_memory: bool = False
    ) -> Change:
        """Record that the process ended, or the `problem` with its start, and plan its next start."""
        self.exit_code, self.problem, self.log = code, problem, log
        self.is_out_of_memory = is_out_of_memory and code == -signal.SIGKILL
        now = time.monotonic()
        self.failures = [at for at in self.failures if now - at < FAILURE_WINDOW_S] + [now]
        if self.has_failed or len(self.failures) >= MAX_FAILURES:
            self.has_failed = True
            self.set_state("failed")
            self.start_at = now + RETRY_FAILED_S
            return "given_up"
        self.set_state("restarting")
        self.start_at = now + min(MAX_PAUSE_S, FIRST_PAUSE_S * 2 ** (len(self.failures) - 1))
        return "ended"

    def record_start(self) -> None:
        """Record that the process was started again."""
        self.start_at = None
        self.started = time.monotonic()
        self.restarts += 1

    def reset_failures_when_healthy(self) -> None:
        """Reset the counters of a part that has run long enough."""
        if self.failures and time.monotonic() - self.started > HEALTHY_S:
            self.failures.clear()
            self.has_failed = False

    def reset_failures(self) -> None:
        """Reset the counters, and start immediately if the part waits for that."""
        self.failures.clear()
        self.has_failed = False
        if self.start_at is not None:
            self.start_at = time.monotonic()
            self.set_state("restarting")

    @property
    def reason(self) -> str:
        """Return why it ended last; empty if it never did."""
        if self.problem:
            return self.problem
        return "" if self.exit_code is None else describe_end(self.exit_code, self.is_out_of_memory)

    def as_json(self) -> dict[str, Any]:
        """Return the state for the state file. It contains no secrets, except those in the log."""
        next_start = None if self.start_at is None else time.time() + self.start_at - time.monotonic()
        return {
            "state": self.state,
            "since": format_time(self.since),
            "restarts": self.restarts,
            "signal": get_signal_name(self.exit_code),
            "exit_code": self.exit_code if self.exit_code is not None and self.exit_code >= 0 else None,
            "out_of_memory": self.is_out_of_memory,
            "reason": self.reason,
            "next_start_at": None if next_start is None else format_time(next_start),
            "log": self.log,
        }


def format_time(seconds: float) -> str:
    """Wall-clock seconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def get_signal_name(code: int | None) -> str | None:
    """Return `SIGKILL` for -9, or None for an exit code that is no signal."""
    if code is None or code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def describe_end(code: int, is_out_of_memory: bool = False) -> str:
    """Return a description of how a process ended."""
    name = get_signal_name(code)
    if name is None:
        return f"exited with code {code}"
    if is_out_of_memory:
        return f"killed by {name} while the kernel was out of memory: check `dmesg` and free memory"
    if code == -signal.SIGKILL:
        return f"killed by {name}: by a person, or by the kernel when memory is short (check `dmesg`)"
    return f"killed by {name}"


def count_oom_kills() -> int:
    """Return how many processes the kernel has killed since boot because memory was exhausted."""
    try:
        lines = Path("/proc/vmstat").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
