"""Run one command on a host: start, write, read, and end it within limits.

Standard output and standard error are read together and continuously, so neither blocks the other; data is
passed on in chunks and never collected here. Silence, amount and duration are limited on this side.
"""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import paramiko

from culprit.infra.ssh.connection import Connection, Report, SshHop, SshTimeouts, ignore_report, run_stage
from culprit.infra.ssh.errors import SshError, to_printable
from culprit.infra.ssh.transport import ProtocolViolationError

CHUNK = 1 << 16
STATUS_WAIT_S = 5.0
CLOSE_WAIT_S = 0.5
CLOSE_SEND_S = 1.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a started command: silence, total duration, and bytes."""

    silence_s: float
    total_s: float
    stdout_bytes: int
    stderr_bytes: int


class SessionHandler(Protocol):
    """Callbacks of a command. Each may raise SshError to end it."""

    def stdout(self, data: bytes) -> None:
        """Handle bytes of standard output."""
        ...

    def stderr(self, data: bytes) -> None:
        """Handle bytes of standard error."""
        ...

    def take_input(self, now: float) -> bytes:
        """Return what to write to stdin. Called at least every `INPUT_INTERVAL_S` seconds; `now` is monotonic."""
        ...

    def should_close_input(self) -> bool:
        """Return whether to close stdin, which makes the command end."""
        ...


INPUT_INTERVAL_S = 0.25
END_POLL_S = 0.01


def start_command(
    connection: Connection, hop: SshHop, command: str, timeouts: SshTimeouts, report: Report = ignore_report
) -> paramiko.Channel:
    """Open a channel and start `command`. Raises SshError."""
    report("channel")
    with run_stage(connection, "channel", timeouts.step_s, hop):
        channel = connection.transport.open_session(timeout=timeouts.step_s * 2)
    report("exec")
    with run_stage(connection, "exec", timeouts.step_s, hop):
        channel.exec_command(command)
    return channel


def run_command(
    connection: Connection, channel: paramiko.Channel, handler: SessionHandler, bounds: Bounds
) -> int:
    """Transfer data until the command ends; return its exit status. Raises SshError.

    A stream that ends without an exit status was interrupted, even if it looks complete. In every case, all
    bytes that had arrived are passed on.
    """
    pump = _Pump(channel, handler, bounds)
    try:
        reason = _transfer_data(connection, channel, pump)
        if connection.watchdog.expired:  # while a write waited for the peer
            raise SshError("silent", seconds=round(bounds.silence_s))
        return _get_exit_status(connection, channel, reason)
    except SshError as error:
        if error.kind != "flood":
            pump.drain_all()
        raise
    finally:
        # The close is sent after a key exchange that the peer has started, and may never end.
        connection.watchdog.until(time.monotonic() + CLOSE_SEND_S)
        with contextlib.suppress(EOFError, OSError, paramiko.SSHException):
            channel.close()
        connection.watchdog.until(None)


def _transfer_data(connection: Connection, channel: paramiko.Channel, pump: _Pump) -> str:
    """Transfer data until the other side has ended; return why writing failed, or ""."""
    handler, bounds = pump.handler, pump.bounds
    begun = time.monotonic()
    wake = channel.fileno()
    input_closed = False
    unwritable = ""
    channel.settimeout(1.0)
    while not pump.has_ended():
        now = time.monotonic()
        if now - begun > bounds.total_s:
            raise SshError("deadline", seconds=round(bounds.total_s))
        if now - pump.last_data_at > bounds.silence_s:
            raise SshError("silent", seconds=round(bounds.silence_s))
        connection.watchdog.until(now + bounds.silence_s + 1)
        # After a failed write, earlier data may still arrive, so only reading continues.
        if not unwritable and not channel.eof_received:
            try:
                if data := handler.take_input(now):
                    channel.sendall(data)
                if not input_closed and handler.should_close_input():
                    channel.shutdown_write()
                    input_closed = True
            except (OSError, EOFError, paramiko.SSHException) as error:
                unwritable = str(error) or type(error).__name__
                pump.expect_end()
        if channel.eof_received and not pump.has_data():
            time.sleep(END_POLL_S)  # `wake` stays readable after the end of the stream
        else:
            select.select([wake], [], [], INPUT_INTERVAL_S)
        pump.drain()
    return unwritable


def _get_exit_status(connection: Connection, channel: paramiko.Channel, reason: str) -> int:
    if not channel.exit_status_ready() or channel.exit_status < 0:
        error = connection.transport.get_exception()
        if isinstance(error, ProtocolViolationError):
            raise SshError("protocol", reason=to_printable(str(error)))
        raise SshError("cut", reason=to_printable(reason) or "no exit status")
    return channel.exit_status


def _receive(read: Callable[[int], bytes]) -> bytes:
    """Read one chunk. Raises SshError if the peer closes the connection while paramiko acknowledges the chunk."""
    try:
        return read(CHUNK)
    except EOFError as error:
        raise SshError("cut", reason="the peer closed the connection") from error


class _Pump:
    """Transfer bytes out of a channel and count them."""

    def __init__(self, channel: paramiko.Channel, handler: SessionHandler, bounds: Bounds) -> None:
        self.channel = channel
        self.handler = handler
        self.bounds = bounds
        self.last_data_at = time.monotonic()
        self.stdout_bytes = 0
        self.stderr_bytes = 0
        self._end_expected_at: float | None = None

    def expect_end(self) -> None:
        """Limit the time until the other side ends to STATUS_WAIT_S."""
        if self._end_expected_at is None:
            self._end_expected_at = time.monotonic()

    def has_data(self) -> bool:
        """Return whether unread data has arrived."""
        return bool(self.channel.recv_ready() or self.channel.recv_stderr_ready())

    def has_ended(self) -> bool:
        """Return whether the channel is closed or timed out, and all data was read.

        After the end of the stream, the exit status and the close arrive in any order. The wait is at most
        STATUS_WAIT_S for both and at most CLOSE_WAIT_S for the close.
        """
        over = bool(self.channel.closed)
        if not over and self.channel.eof_received:
            self.expect_end()
        if not over and self._end_expected_at is not None:
            waited = time.monotonic() - self._end_expected_at
            has_status = self.channel.eof_received and self.channel.exit_status_ready()
            over = waited > (CLOSE_WAIT_S if has_status else STATUS_WAIT_S)
        return over and not self.has_data()

    def drain_all(self) -> None:
        """Read all data that has arrived. The window of the channel limits the amount."""
        with contextlib.suppress(SshError):
            while self.has_data():
                self.drain()

    def drain(self) -> None:
        """Read at most one chunk of each stream, so that neither blocks the other."""
        if self.channel.recv_stderr_ready():
            data = _receive(self.channel.recv_stderr)
            self.last_data_at = time.monotonic()
            self.stderr_bytes += len(data)
            if self.stderr_bytes > self.bounds.stderr_bytes:
                raise SshError("flood", stream="stderr", limit=self.bounds.stderr_bytes)
            self.handler.stderr(data)
        if self.channel.recv_ready():
            data = _receive(self.channel.recv)
            self.last_data_at = time.monotonic()
            self.stdout_bytes += len(data)
            if self.stdout_bytes > self.bounds.stdout_bytes:
                raise SshError("flood", stream="stdout", limit=self.bounds.stdout_bytes)
            self.handler.stdout(data)
