"""One SSH session with a host, in a child of its own: log in, run one command, hand over what it says.

This runs in a child of the fork server. It knows neither database nor artifact store: it tells the worker
what happens, message by message, writes the payloads of frames into the spool directory, and can be killed at
any time. It imports little, because every child carries it.

From the worker: the job; {"start": …} once we are logged in; {"ok": 1} as long as it holds the lease;
{"cancel": 1}. To the worker: {"stage"}, {"ready"}, {"heard"}, {"progress"}, {"said"}, {"frame"}, {"dropped"}, and at
last {"ended"} or {"error"}. What the host sends beyond what was ordered never reaches the worker; see
`culprit.workflows.frame_filter`.
"""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors import frames
from culprit.infra.addresses import Rule
from culprit.infra.forkserver import Line, Message
from culprit.infra.ssh import Connection, Hop, Patience, connect
from culprit.infra.ssh_errors import SshError, Stage, printable
from culprit.infra.ssh_exec import Bounds, converse, start
from culprit.infra.ssh_keys import Login, PublicKey
from culprit.workflows.frame_filter import DroppedPart, FrameFilter
from culprit.workflows.spool import Spool
from culprit.workflows.survey import Survey

REPORT_EVERY_S = 1.0
ALONE_AFTER_S = 25.0
CANCEL_GRACE_S = 3.0
MAX_LINE = 4096
COMPLETE = (0, 3, 69, 73, 75)
MAX_NOISE = 2000
#: The shortest and the longest round trip are used; a watcher that runs for days must not gather all of them.
MAX_ROUND_TRIPS = 1000
#: How the words begin of what waits on a host; whoever asked for it reads them.
WATCHER = (b"watch ", b"fire ", b"note ")
STDERR_BYTES = 4 << 20


def pack_hop(hop: Hop) -> Message:
    """A hop as JSON, secrets included: for the socket to a child only."""
    key = hop.host_key
    return {
        "name": hop.name,
        "address": hop.address,
        "port": hop.port,
        "login": {
            "kind": hop.login.kind,
            "username": hop.login.username,
            "secret": hop.login.secret,
            "certificate": hop.login.certificate,
            "key_fingerprint": hop.login.key_fingerprint,
        },
        "host_key": [key.type, base64.b64encode(key.blob).decode()] if key else None,
    }


def unpack_hop(packed: Mapping[str, Any]) -> Hop:
    """The hop again."""
    key = packed["host_key"]
    return Hop(
        packed["name"],
        packed["address"],
        packed["port"],
        Login(**packed["login"]),
        PublicKey(key[0], base64.b64decode(key[1])) if key else None,
    )


def run(job: Message, line: Line) -> None:
    """The program of the child. `job`: hops, rules, patience; a spool for a capture, none for a check."""
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    hops = [unpack_hop(packed) for packed in job["hops"]]
    rules = [Rule(*packed) for packed in job["rules"]]
    patience = Patience(**job["patience"])

    try:
        connection = connect(hops, rules, patience, lambda stage: line.send({"stage": stage}))
    except SshError as error:
        line.send({"error": {"kind": error.kind, "params": error.params}})
        return
    try:
        line.send({"ready": connection.timings})
        order = line.receive(60)
        while order is not None and "start" not in order:
            if "cancel" in order:
                return
            order = line.receive(60)
        if order is not None:
            talk: Conversation | Survey
            if "spool" in job:
                talk = Conversation(line, Spool(Path(job["spool"])), order["start"], patience.step_s)
            else:
                talk = Survey(line, order["start"], patience.step_s)
            _session(connection, hops[-1], order["start"], patience, talk)
    except SshError as error:
        line.send({"error": {"kind": error.kind, "params": error.params}})
    finally:
        connection.close()


def _session(
    connection: Connection, hop: Hop, order: Message, patience: Patience, talk: Conversation | Survey
) -> None:
    """Runs the command of `order`: command, first_line, beat_s, and the bounds."""
    bounds = Bounds(order["silence_s"], order["total_s"], order["stdout_bytes"], STDERR_BYTES)
    channel = start(connection, hop, order["command"], patience, talk.report)
    talk.started()
    try:
        status = converse(connection, channel, talk, bounds)
    finally:
        talk.report_dropped()
    talk.ended(status, connection)


class Conversation:
    """What is said with the runner on the host; see collectors/host/PROTOCOL.md."""

    def __init__(self, line: Line, spool: Spool, order: Message, patience_s: float) -> None:
        self._line = line
        self._spool = spool
        limits = frames.FrameLimits(total_bytes=order["stdout_bytes"])
        self._reader = frames.FrameReader(limits, self._open_part)
        self._filter = FrameFilter(order.get("collectors", {}))
        self._dropped_reported = 0
        self._first_line: str | None = order.get("first_line")
        self._beat_s: float = order["beat_s"]
        self._patience_s = patience_s
        self._beats: dict[int, float] = {}
        self._beat = 0
        self._begun = self._acknowledged = self._reported = time.monotonic()
        self._last_beat = 0.0
        self._cancelled: float | None = None
        self._bytes = 0
        self._frames = 0
        self._first_ms: float | None = None
        self._round_trips: list[float] = []
        self._partial_line = b""
        self._noise = b""

    def report(self, stage: Stage) -> None:
        """A step begins."""
        self._line.send({"stage": stage})

    def started(self) -> None:
        """The command was started just now."""
        self._begun = time.monotonic()

    def stdout(self, data: bytes) -> None:
        """Frames, whole or in pieces."""
        if self._first_ms is None:
            self._first_ms = (time.monotonic() - self._begun) * 1000
        self._bytes += len(data)
        for frame in self._reader.iterate(data):
            self._frames += 1
            if self._filter.accept(frame):
                self._line.send({"frame": self._spool.describe(frame)})

    def _open_part(self, header: frames.Header) -> frames.Sink:
        return self._spool.open(header) if self._filter.accept_part(header) else DroppedPart()

    def stderr(self, data: bytes) -> None:
        """Answers to heartbeats, progress, and noise."""
        self._bytes += len(data)
        *lines, self._partial_line = (self._partial_line + data).split(b"\n")
        self._partial_line = self._partial_line[:MAX_LINE]
        for one in lines:
            self._hear(one[:MAX_LINE])

    def _hear(self, line: bytes) -> None:
        said = frames.parse_progress(line.decode("utf-8", "replace"))
        if isinstance(said, frames.Alive):
            sent = self._beats.pop(said.n, None)
            if sent is not None and len(self._round_trips) < MAX_ROUND_TRIPS:
                self._round_trips.append((time.monotonic() - sent) * 1000)
        elif isinstance(said, frames.Progress):
            if self._filter.accept_progress(said):
                self._line.send({"progress": [said.collector, said.state, said.elapsed_ms]})
        elif line.startswith(WATCHER):
            if self._filter.accept_line(time.monotonic()):
                self._line.send({"said": line.decode("utf-8", "replace")})
        else:
            self._noise = (self._noise + line + b"\n")[-MAX_NOISE:]

    def turn(self, now: float) -> bytes:
        """Heartbeats, and what the worker wants to have said."""
        words = b""
        if self._first_line is not None:
            words, self._first_line = self._first_line.encode() + b"\n", None
        if now - self._last_beat >= self._beat_s:
            self._last_beat = now
            self._beat += 1
            if len(self._beats) < 1000:
                self._beats[self._beat] = now
            words += b"hb %d\n" % self._beat
        words += self._obey(now)
        if not self._frames and now - self._begun > self._patience_s:
            raise SshError("no_answer", seconds=round(self._patience_s), said=self._last_words())
        if now - self._reported >= REPORT_EVERY_S:
            self._reported = now
            self._line.send({"heard": self._bytes, "rtt_ms": self._round_trips[-1:] or None})
            self.report_dropped()
        return words

    def report_dropped(self) -> None:
        """Tell the worker how much was not accepted, where that is new."""
        count = self._filter.dropped.total()
        if count != self._dropped_reported:
            self._dropped_reported = count
            self._line.send({"dropped": dict(self._filter.dropped)})

    def _obey(self, now: float) -> bytes:
        """Messages of the worker. A worker that says nothing has lost us: then the host must not go on."""
        words = b""
        while (message := self._line.receive(0)) is not None:
            self._acknowledged = now
            if "cancel" in message and self._cancelled is None:
                self._cancelled = now
                words = b"cancel\n"
        if now - self._acknowledged > ALONE_AFTER_S:
            raise SshError("killed", reason="the worker does not answer")
        return words

    def hang_up(self) -> bool:
        """Some seconds after `cancel`, the runner hears the end of its input."""
        return self._cancelled is not None and time.monotonic() - self._cancelled > CANCEL_GRACE_S

    def _last_words(self) -> str:
        noise = self._noise + self._partial_line + b" " + bytes(self._reader.noise)
        return printable(noise.decode("utf-8", "replace").strip().rpartition("\n")[2], 200)

    def ended(self, status: int, connection: Connection) -> None:
        """The command has ended by itself with that exit status."""
        trouble = self._reader.close()
        if not self._frames:
            raise _no_shell(status, self._last_words())
        if trouble or status not in COMPLETE:
            raise SshError("cut", reason=f"{trouble or 'stopped'}, exit status {status}")
        timings = connection.timings
        if self._first_ms is not None:
            timings["first_byte_ms"] = round(self._first_ms, 1)
        self._line.send({"ended": status, "rtt_ms": self._round_trips, "timings": timings})


def _no_shell(status: int, said: str) -> SshError:
    """Our program never spoke: what the host said instead tells why."""
    if "sudo" in said:
        if "not in the sudoers" in said or "not allowed" in said:
            return SshError("sudo_denied", said=said)
        if "a password is required" in said:
            return SshError("sudo_asks", said=said)
        if "password" in said or "try again" in said or "terminal" in said:
            return SshError("sudo_password", said=said)
        if status == 127 or "not found" in said:
            return SshError("sudo_missing", said=said)
    return SshError("no_shell", status=status, said=said)
