"""The conversation with a check: a program that prints facts and ends. Bounded, and timed."""

from __future__ import annotations

import time
from typing import Any

from culprit.infra.forkserver import Line, Message
from culprit.infra.ssh import Connection
from culprit.infra.ssh_errors import SshError, Stage, printable

BEGINS = b"preflight 1\n"
CLOCK = b"\nclock "
MAX_TEXT = 256 << 10
ROUND_TRIPS = 5


class Survey:
    """Gathers what the program prints after its first line; before that comes what the shell had to say."""

    def __init__(self, line: Line, order: Message, patience_s: float) -> None:
        self._line = line
        self._first_line: str | None = order.get("first_line")
        self._patience_s = patience_s
        self._text = bytearray()
        self._noise = b""
        self._begun = self._reported = time.monotonic()
        self._first_ms: float | None = None
        self._clock_heard_ns: int | None = None

    def report(self, stage: Stage) -> None:
        """A step begins."""
        self._line.send({"stage": stage})

    def started(self) -> None:
        """The command was started just now."""
        self._begun = time.monotonic()

    def stdout(self, data: bytes) -> None:
        """Facts."""
        if self._first_ms is None:
            self._first_ms = (time.monotonic() - self._begun) * 1000
        searched = max(0, len(self._text) - len(CLOCK))
        self._text += data[: MAX_TEXT - len(self._text)]
        if self._clock_heard_ns is None and self._text.find(CLOCK, searched) >= 0:
            self._clock_heard_ns = time.time_ns()

    def stderr(self, data: bytes) -> None:
        """Noise."""
        self._noise = (self._noise + data)[-2000:]

    def turn(self, now: float) -> bytes:
        """Says the password where one is wanted, and that we still listen."""
        words = b""
        if self._first_line is not None:
            words, self._first_line = self._first_line.encode() + b"\n", None
        if not self._text and now - self._begun > self._patience_s:
            raise SshError("no_answer", seconds=round(self._patience_s), said=self.last_words())
        if now - self._reported >= 1.0:
            self._reported = now
            self._line.send({"heard": len(self._text)})
        return words

    def hang_up(self) -> bool:
        """The check needs no input."""
        return self._first_line is None

    def report_dropped(self) -> None:
        """Do nothing: a check accepts text up to a bound and knows no frames."""

    def last_words(self) -> str:
        """What the host said instead of facts."""
        said = self._noise + b"\n" + self._text[-500:]
        return printable(said.decode("utf-8", "replace").strip().rpartition("\n")[2], 200)

    def ended(self, status: int, connection: Connection) -> None:
        """The command has ended by itself."""
        _, begins, facts = bytes(self._text).partition(BEGINS)
        if not begins:
            raise SshError("no_shell", status=status, said=self.last_words())
        timings: dict[str, Any] = dict(connection.timings)
        if self._first_ms is not None:
            timings["first_byte_ms"] = round(self._first_ms, 1)
        self._line.send(
            {
                "ended": status,
                "rtt_ms": round_trips(connection),
                "timings": timings,
                "text": facts.decode("utf-8", "replace"),
                "heard_ns": self._clock_heard_ns,
            }
        )


def round_trips(connection: Connection) -> list[float]:
    """Milliseconds for questions that sshd answers without starting anything."""
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
