"""One command on a host: started, fed, drained, and ended, all within bounds.

Standard output and standard error are read together and always, so neither can block the other; what arrives
is handed over in chunks and never gathered here. How long the host may be silent, how much it may send and
how long all of it may take are bounded from this side, whatever the host does.
"""

from __future__ import annotations

import contextlib
import select
import time
from dataclasses import dataclass
from typing import Protocol

import paramiko

from culprit.infra.ssh import Connection, Hop, Patience, Report, ignore, stage
from culprit.infra.ssh_errors import SshError, printable

CHUNK = 1 << 16
STATUS_WAIT_S = 5.0
CLOSE_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on a started command: its silence, its whole duration, and the bytes it may send."""

    silence_s: float
    total_s: float
    stdout_bytes: int
    stderr_bytes: int


class Talk(Protocol):
    """What is said with the command. Any method may raise SshError to end it."""

    def stdout(self, data: bytes) -> None:
        """Bytes of standard output, as they come."""
        ...

    def stderr(self, data: bytes) -> None:
        """Bytes of standard error, as they come."""
        ...

    def turn(self, now: float) -> bytes:
        """Called at least every `TURN_S` seconds (`now` is monotonic); returns what to write to stdin."""
        ...

    def hang_up(self) -> bool:
        """Whether to close the command's stdin now, which tells it to end."""
        ...


TURN_S = 0.25
END_TURN_S = 0.01


def start(
    connection: Connection, hop: Hop, command: str, patience: Patience, report: Report = ignore
) -> paramiko.Channel:
    """Opens a channel and starts `command`; raises SshError."""
    report("channel")
    with stage(connection, "channel", patience.step_s, hop):
        channel = connection.transport.open_session(timeout=patience.step_s * 2)
    report("exec")
    with stage(connection, "exec", patience.step_s, hop):
        channel.exec_command(command)
    return channel


def converse(connection: Connection, channel: paramiko.Channel, talk: Talk, bounds: Bounds) -> int:
    """Pumps until the command ends; returns its exit status. Raises SshError.

    A stream that ends without an exit status was cut, however complete it looks. Whatever ends it, every byte that
    had arrived by then was handed over.
    """
    pump = _Pump(channel, talk, bounds)
    try:
        reason = _pump(connection, channel, pump)
        return _status(channel, reason)
    except SshError as error:
        if error.kind != "flood":
            pump.drain_all()
        raise
    finally:
        connection.watchdog.until(None)
        channel.close()


def _pump(connection: Connection, channel: paramiko.Channel, pump: _Pump) -> str:
    """Moves bytes until the other side has ended; returns why nothing could be written any more, or ""."""
    talk, bounds = pump.talk, pump.bounds
    begun = time.monotonic()
    wake = channel.fileno()
    hung_up = False
    unwritable = ""
    channel.settimeout(1.0)
    while not pump.ended():
        now = time.monotonic()
        if now - begun > bounds.total_s:
            raise SshError("deadline", seconds=round(bounds.total_s))
        if now - pump.heard_at > bounds.silence_s:
            raise SshError("silent", seconds=round(bounds.silence_s))
        connection.watchdog.until(now + bounds.silence_s + 1)
        # Where nothing can be written, what had been sent before may still arrive: only reading goes on.
        if not unwritable and not channel.eof_received:
            try:
                if words := talk.turn(now):
                    channel.sendall(words)
                if not hung_up and talk.hang_up():
                    channel.shutdown_write()
                    hung_up = True
            except (OSError, EOFError, paramiko.SSHException) as error:
                unwritable = str(error) or type(error).__name__
                pump.expect_end()
        if channel.eof_received and not pump.has_data():
            time.sleep(END_TURN_S)  # `wake` stays readable after the end of the stream
        else:
            select.select([wake], [], [], TURN_S)
        pump.drain()
    return unwritable


def _status(channel: paramiko.Channel, reason: str) -> int:
    if not channel.exit_status_ready() or channel.exit_status < 0:
        raise SshError("cut", reason=printable(reason) or "no exit status")
    return channel.exit_status


class _Pump:
    """Moves bytes out of a channel and counts them."""

    def __init__(self, channel: paramiko.Channel, talk: Talk, bounds: Bounds) -> None:
        self.channel = channel
        self.talk = talk
        self.bounds = bounds
        self.heard_at = time.monotonic()
        self.stdout_bytes = 0
        self.stderr_bytes = 0
        self._end_expected_at: float | None = None

    def expect_end(self) -> None:
        """From now on the other side has STATUS_WAIT_S to end by itself."""
        if self._end_expected_at is None:
            self._end_expected_at = time.monotonic()

    def has_data(self) -> bool:
        """Whether something that arrived was not read yet."""
        return bool(self.channel.recv_ready() or self.channel.recv_stderr_ready())

    def ended(self) -> bool:
        """Whether the other side has closed the channel, or had time to, and all that it sent was read.

        After the end of the stream come the exit status and the close, in any order. A peer that sends neither is
        not waited for longer than STATUS_WAIT_S, and one that sends no close not longer than CLOSE_WAIT_S.
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
        """Reads all that has arrived. How much that can be is bounded by the window of the channel."""
        with contextlib.suppress(SshError):
            while self.has_data():
                self.drain()

    def drain(self) -> None:
        """Reads at most one chunk of each stream, so that neither starves the other."""
        if self.channel.recv_stderr_ready():
            data = self.channel.recv_stderr(CHUNK)
            self.heard_at = time.monotonic()
            self.stderr_bytes += len(data)
            if self.stderr_bytes > self.bounds.stderr_bytes:
                raise SshError("flood", stream="stderr", limit=self.bounds.stderr_bytes)
            self.talk.stderr(data)
        if self.channel.recv_ready():
            data = self.channel.recv(CHUNK)
            self.heard_at = time.monotonic()
            self.stdout_bytes += len(data)
            if self.stdout_bytes > self.bounds.stdout_bytes:
                raise SshError("flood", stream="stdout", limit=self.bounds.stdout_bytes)
            self.talk.stdout(data)
