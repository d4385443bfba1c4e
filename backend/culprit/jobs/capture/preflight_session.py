"""The SSH session of a preflight check: a program that prints facts and ends."""

from __future__ import annotations

import time
from typing import Any

from culprit.infra.sandbox.fork_server import Line, Message
from culprit.infra.ssh.connection import Connection
from culprit.infra.ssh.errors import SshError, Stage, to_printable
from culprit.jobs.capture.session_messages import send_to_worker

FACTS_HEADER = b"preflight 1\n"
CLOCK = b"\nclock "
MAX_TEXT = 256 << 10
ROUND_TRIPS = 5


class PreflightSession:
    """Collect what the program prints after its first line; earlier output comes from the shell."""

    def __init__(self, line: Line, order: Message, timeout_s: float) -> None:
        self._line = line
        self._first_line: str | None = order.get("first_line")
        self._timeout_s = timeout_s
        self._text = bytearray()
        self._noise = b""
        self._begun = self._reported = time.monotonic()
        self._first_ms: float | None = None
        self._clock_received_ns: int | None = None

    @property
    def has_answered(self) -> bool:
        """Return whether the program has printed anything."""
        return bool(self._text)

    def report(self, stage: Stage) -> None:
        """Report that a step begins."""
        send_to_worker(self._line, {"kind": "stage", "stage": stage})

    def on_started(self) -> None:
        """Record that the command was started."""
        self._begun = time.monotonic()

    def stdout(self, data: bytes) -> None:
        """Collect facts."""
        if self._first_ms is None:
            self._first_ms = (time.monotonic() - self._begun) * 1000
        searched = max(0, len(self._text) - len(CLOCK))
        self._text += data[: MAX_TEXT - len(self._text)]
        if self._clock_received_ns is None and self._text.find(CLOCK, searched) >= 0:
            self._clock_received_ns = time.time_ns()

    def stderr(self, data: bytes) -> None:
        """Keep the end of standard error."""
        self._noise = (self._noise + data)[-2000:]

    def take_input(self, now: float) -> bytes:
        """Return the password if one is needed, and report progress."""
        words = b""
        if self._first_line is not None:
            words, self._first_line = self._first_line.encode() + b"\n", None
        if not self._text and now - self._begun > self._timeout_s:
            raise SshError("no_answer", seconds=round(self._timeout_s), message=self.read_remaining())
        if now - self._reported >= 1.0:
            self._reported = now
            send_to_worker(self._line, {"kind": "received", "bytes": len(self._text)})
        return words

    def should_close_input(self) -> bool:
        """Return whether the input can be closed: a check needs none after the password."""
        return self._first_line is None

    def report_dropped(self) -> None:
        """Do nothing: a check accepts text up to a bound and knows no frames."""

    def read_remaining(self) -> str:
        """Return the last line that the host printed instead of facts."""
        noise = self._noise + b"\n" + self._text[-500:]
        return to_printable(noise.decode("utf-8", "replace").strip().rpartition("\n")[2], 200)

    def on_ended(self, status: int, connection: Connection) -> None:
        """Send the facts to the worker after the command has ended."""
        _, begins, facts = bytes(self._text).partition(FACTS_HEADER)
        if not begins:
            raise SshError("no_shell", status=status, message=self.read_remaining())
        timings: dict[str, Any] = dict(connection.timings)
        if self._first_ms is not None:
            timings["first_byte_ms"] = round(self._first_ms, 1)
        send_to_worker(
            self._line,
            {
                "kind": "ended",
                "status": status,
                "timings": timings,
                "round_trips_ms": measure_round_trips(connection),
                "text": facts.decode("utf-8", "replace"),
                "clock_received_ns": self._clock_received_ns,
            },
        )


def measure_round_trips(connection: Connection) -> list[float]:
    """Measure round trips to sshd, in milliseconds."""
    took = []
    for _ in range(ROUND_TRIPS):
        begun = time.monotonic()
        connection.watchdog.until(begun + 10)
        connection.transport.global_request("keepalive@openssh.com", wait=True)
        if connection.watchdog.expired or not connection.transport.is_active():
            break
        took.append((time.monotonic() - begun) * 1000)
    connection.watchdog.until(None)
    return took
