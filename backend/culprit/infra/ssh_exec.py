"""One command on a host: started, fed, drained, and ended, all within bounds.

Standard output and standard error are read together and always, so neither can block the other; what arrives
is handed over in chunks and never gathered here. How long the host may be silent, how much it may send and
how long all of it may take are bounded from this side, whatever the host does.
"""

from __future__ import annotations

import select
import time
from dataclasses import dataclass
from typing import Protocol

import paramiko

from culprit.infra.ssh import Connection, Hop, Patience, Report, ignore, stage
from culprit.infra.ssh_errors import SshError

CHUNK = 1 << 16
STATUS_WAIT_S = 5.0


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

    A stream that ends without an exit status was cut, however complete it looks.
    """
    try:
        _pump(connection, channel, talk, bounds)
        return _status(channel)
    finally:
        connection.watchdog.until(None)
        channel.close()


def _pump(connection: Connection, channel: paramiko.Channel, talk: Talk, bounds: Bounds) -> None:
    pump = _Pump(channel, talk, bounds)
    begun = time.monotonic()
    wake = channel.fileno()
    hung_up = False
    channel.settimeout(1.0)
    while not pump.ended():
        now = time.monotonic()
        if now - begun > bounds.total_s:
            raise SshError("deadline", seconds=round(bounds.total_s))
        if now - pump.heard_at > bounds.silence_s:
            raise SshError("silent", seconds=round(bounds.silence_s))
        connection.watchdog.until(now + bounds.silence_s + 1)
        try:
            if words := talk.turn(now):
                channel.sendall(words)
            if not hung_up and talk.hang_up():
                channel.shutdown_write()
                hung_up = True
        except OSError as error:
            if not pump.ended():
                raise SshError("cut", reason=str(error) or type(error).__name__) from error
        select.select([wake], [], [], TURN_S)
        pump.drain()


def _status(channel: paramiko.Channel) -> int:
    channel.status_event.wait(STATUS_WAIT_S)
    if not channel.exit_status_ready() or channel.exit_status < 0:
        raise SshError("cut", reason="no exit status")
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

    def ended(self) -> bool:
        """Whether the other side has ended both streams and all of them was read."""
        over = bool(self.channel.eof_received or self.channel.closed)
        return over and not self.channel.recv_ready() and not self.channel.recv_stderr_ready()

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
