"""The parts of a running platform as the supervisor sees them, and the rules by which it restarts them."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
# A part that ends this often within the window is given up.
FAILURES_MAX = 6
FAILURE_WINDOW_S = 300.0
# A part that has run so long is healthy: what happened before no longer counts.
HEALTHY_S = 60.0
# A part that was given up gets one try from time to time: a full disk or short memory may be over by then.
RETRY_FAILED_S = 600.0
# A part that is started again must be ready within this time. PostgreSQL may have to replay its log first.
START_LIMIT_S = 180.0
# Without a port to look at, a process that lives so long has started.
SETTLE_S = 2.0
LOG_LINES = 12

State = Literal["ok", "restarting", "failed", "stopped"]
Change = Literal["ended", "given_up", "recovered", "stopped"]


@dataclass(slots=True)
class Part:
    """One process and how it fares. `start_at` and `started` are monotonic, `since` is wall-clock seconds."""

    name: str
    state: State = "ok"
    since: float = field(default_factory=time.time)
    started: float = field(default_factory=time.monotonic)
    start_at: float | None = None
    restarts: int = 0
    failures: list[float] = field(default_factory=list)
    is_given_up: bool = False
    exit_code: int | None = None
    is_out_of_memory: bool = False
    problem: str = ""
    log: list[str] = field(default_factory=list)

    def set_state(self, state: State) -> None:
        """Enter `state`; `since` changes with it."""
        if state != self.state:
            self.state, self.since = state, time.time()

    def record_end(self, code: int, log: list[str], *, is_out_of_memory: bool = False) -> Change:
        """Note that the process ended, and plan its next start."""
        now = time.monotonic()
        self.exit_code, self.problem, self.log = code, "", log
        self.is_out_of_memory = is_out_of_memory and code == -signal.SIGKILL
        return self._plan(now)

    def record_problem(self, problem: str, log: list[str]) -> Change:
        """Note that the process could not be started, and plan the next try."""
        self.exit_code, self.problem, self.log = None, problem, log
        self.is_out_of_memory = False
        return self._plan(time.monotonic())

    def _plan(self, now: float) -> Change:
        self.failures = [at for at in self.failures if now - at < FAILURE_WINDOW_S] + [now]
        if self.is_given_up or len(self.failures) >= FAILURES_MAX:
            self.is_given_up = True
            self.set_state("failed")
            self.start_at = now + RETRY_FAILED_S
            return "given_up"
        self.set_state("restarting")
        self.start_at = now + min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (len(self.failures) - 1))
        return "ended"

    def record_start(self) -> None:
        """Note that the process was started again."""
        self.start_at = None
        self.started = time.monotonic()
        self.restarts += 1

    def forget_failures_when_healthy(self) -> None:
        """Reset the counters of a part that has run long enough."""
        if self.failures and time.monotonic() - self.started > HEALTHY_S:
            self.failures.clear()
            self.is_given_up = False

    def forget_failures(self) -> None:
        """Reset the counters, and start at once where the part waits for that."""
        self.failures.clear()
        self.is_given_up = False
        if self.start_at is not None:
            self.start_at = time.monotonic()
            self.set_state("restarting")

    @property
    def reason(self) -> str:
        """Why it ended last, in words; empty where it never did."""
        if self.problem:
            return self.problem
        return "" if self.exit_code is None else describe_end(self.exit_code, self.is_out_of_memory)

    def as_json(self) -> dict[str, Any]:
        """For the file that says what runs. No secrets, except what the log itself may hold."""
        next_start = None if self.start_at is None else time.time() + self.start_at - time.monotonic()
        return {
            "state": self.state,
            "since": format_time(self.since),
            "restarts": self.restarts,
            "signal": signal_name(self.exit_code),
            "exit_code": self.exit_code if self.exit_code is not None and self.exit_code >= 0 else None,
            "out_of_memory": self.is_out_of_memory,
            "reason": self.reason,
            "next_start_at": None if next_start is None else format_time(next_start),
            "log": self.log,
        }


def format_time(seconds: float) -> str:
    """Wall-clock seconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def signal_name(code: int | None) -> str | None:
    """`SIGKILL` for -9; None for an exit code that is no signal."""
    if code is None or code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def describe_end(code: int, is_out_of_memory: bool = False) -> str:
    """Say in words how a process ended."""
    name = signal_name(code)
    if name is None:
        return f"ended by itself with exit code {code}"
    if is_out_of_memory:
        return f"killed by {name} while the kernel was out of memory: check `dmesg` and free memory"
    if code == -signal.SIGKILL:
        return f"killed by {name}: by a person, or by the kernel when memory is short (check `dmesg`)"
    return f"killed by {name}"


def count_oom_kills() -> int:
    """Return how many processes the kernel has killed for want of memory since it started."""
    try:
        lines = Path("/proc/vmstat").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
