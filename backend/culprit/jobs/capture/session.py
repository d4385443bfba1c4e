"""One SSH session with a host, in a child of the fork server.

The child logs in, runs one command and sends its output to the worker, message by message. It knows neither
database nor artifact store, writes payloads to the spool, and can be killed at any time.

Messages are those of `culprit.jobs.capture.session_messages`; the last is `ended` or `error`. Frames that were not
requested never reach the worker; see `culprit.jobs.capture.frame_filter`.
"""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors.runner import frames
from culprit.infra.artifacts.blob_files import is_out_of_space
from culprit.infra.network.addresses import AddressRule
from culprit.infra.sandbox.fork_server import Line, Message
from culprit.infra.ssh.connection import Connection, SshHop, SshTimeouts, connect_host
from culprit.infra.ssh.errors import SshError, Stage, to_printable
from culprit.infra.ssh.execute import Bounds, run_command, start_command
from culprit.infra.ssh.keys import Login, PublicKey
from culprit.jobs.capture.frame_filter import DroppedPart, FrameFilter
from culprit.jobs.capture.preflight_session import PreflightSession
from culprit.jobs.capture.session_messages import receive_from_worker, send_to_worker
from culprit.jobs.capture.spool import Spool

REPORT_EVERY_S = 1.0
SERVER_SILENCE_S = 25.0
CANCEL_GRACE_S = 3.0
MAX_LINE = 4096
COMPLETE = (0, 3, 69, 73, 75)
MAX_NOISE = 2000
#: Only the shortest and the longest round trip are used; a watcher runs for days.
MAX_ROUND_TRIPS = 1000
#: First words of lines of a watcher.
WATCHER = (b"watch ", b"fire ", b"note ")
STDERR_BYTES = 4 << 20


def pack_hop(hop: SshHop) -> Message:
    """Return a hop as JSON with its secrets, for the socket to a child only."""
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


def unpack_hop(packed: Mapping[str, Any]) -> SshHop:
    """Build a hop from its JSON."""
    key = packed["host_key"]
    return SshHop(
        packed["name"],
        packed["address"],
        packed["port"],
        Login(**packed["login"]),
        PublicKey(key[0], base64.b64decode(key[1])) if key else None,
    )


def run(job: Message, line: Line) -> None:
    """Run the session in the child. `job` has hops, rules, timeouts, and a spool for a capture."""
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    hops = [unpack_hop(packed) for packed in job["hops"]]
    rules = [AddressRule(*packed) for packed in job["rules"]]
    timeouts = SshTimeouts(**job["timeouts"])

    def report(stage: Stage) -> None:
        send_to_worker(line, {"kind": "stage", "stage": stage})

    try:
        connection = connect_host(
            hops, rules, timeouts, lambda stage: send_to_worker(line, {"kind": "stage", "stage": stage})
        )
    except SshError as error:
        send_to_worker(line, {"kind": "error", "error": error.kind, "params": error.params})
        return
    try:
        send_to_worker(line, {"kind": "ready", "timings": connection.timings})
        order = _wait_for_order(line)
        if order is not None:
            talk: CaptureSession | PreflightSession
            if "spool" in job:
                talk = CaptureSession(line, Spool(Path(job["spool"])), order, timeouts.step_s)
            else:
                talk = PreflightSession(line, order, timeouts.step_s)
            _run_session(connection, hops[-1], order, timeouts, talk)
    except SshError as error:
        send_to_worker(line, {"kind": "error", "error": error.kind, "params": error.params})
    except OSError as error:
        if not is_out_of_space(error):
            raise
        send_to_worker(line, {"kind": "disk_full"})
    finally:
        connection.close()


def _wait_for_order(line: Line) -> Message | None:
    """Return the start message, or None if the worker canceled or sent nothing for 60 s."""
    while (message := receive_from_worker(line, 60)) is not None:
        if message["kind"] == "start":
            return message["order"]
        if message["kind"] == "cancel":
            return None
    return None


def _run_session(
    connection: Connection,
    hop: SshHop,
    order: Message,
    timeouts: SshTimeouts,
    talk: CaptureSession | PreflightSession,
) -> None:
    """Run the command of `order`: command, first_line, beat_s, and the bounds."""
    bounds = Bounds(order["silence_s"], order["total_s"], order["stdout_bytes"], STDERR_BYTES)
    channel = start_command(connection, hop, order["command"], timeouts, talk.report)
    talk.on_started()
    try:
        status = run_command(connection, channel, talk, bounds)
    except SshError as error:
        if error.kind != "silent" or talk.has_answered:
            raise
        message = talk.read_remaining()
        raise SshError("no_answer", seconds=error.params["seconds"], message=message) from error
    finally:
        talk.report_dropped()
    talk.on_ended(status, connection)


class CaptureSession:
    """The dialog with the runner on the host; see collectors/runner/scripts/PROTOCOL.md."""

    def __init__(self, line: Line, spool: Spool, order: Message, timeout_s: float) -> None:
        self._line = line
        self._spool = spool
        limits = frames.FrameLimits(total_bytes=order["stdout_bytes"])
        self._reader = frames.FrameReader(limits, self._open_part)
        self._filter = FrameFilter(order.get("collectors", {}))
        self._dropped_reported = 0
        self._first_line: str | None = order.get("first_line")
        self._beat_s: float = order["beat_s"]
        self._timeout_s = timeout_s
        self._beats: dict[int, float] = {}
        self._beat = 0
        self._begun = self._acknowledged = self._reported = time.monotonic()
        self._last_beat = 0.0
        self._canceled: float | None = None
        self._bytes = 0
        self._frames = 0
        self._first_ms: float | None = None
        self._round_trips: list[float] = []
        self._partial_line = b""
        self._noise = b""

    @property
    def has_answered(self) -> bool:
        """Return whether the runner has sent its first frame."""
        return self._frames > 0

    def report(self, stage: Stage) -> None:
        """Report that a step begins."""
        send_to_worker(self._line, {"kind": "stage", "stage": stage})

    def on_started(self) -> None:
        """Note that the command was started."""
        self._begun = time.monotonic()

    def stdout(self, data: bytes) -> None:
        """Read frames, complete or in parts."""
        if self._first_ms is None:
            self._first_ms = (time.monotonic() - self._begun) * 1000
        self._bytes += len(data)
        for frame in self._reader.iterate(data):
            self._frames += 1
            if self._filter.accept(frame):
                send_to_worker(self._line, {"kind": "frame", "frame": self._spool.describe(frame)})

    def _open_part(self, header: frames.FrameHeader) -> frames.FrameSink:
        return self._spool.open(header) if self._filter.accept_part(header) else DroppedPart()

    def stderr(self, data: bytes) -> None:
        """Read heartbeat replies, progress and other output."""
        self._bytes += len(data)
        *lines, self._partial_line = (self._partial_line + data).split(b"\n")
        self._partial_line = self._partial_line[:MAX_LINE]
        for line in lines:
            self._handle_output(line[:MAX_LINE])

    def _handle_output(self, line: bytes) -> None:
        progress = frames.parse_progress(line.decode("utf-8", "replace"))
        if isinstance(progress, frames.HeartbeatReply):
            sent = self._beats.pop(progress.n, None)
            if sent is not None and len(self._round_trips) < MAX_ROUND_TRIPS:
                self._round_trips.append((time.monotonic() - sent) * 1000)
        elif isinstance(progress, frames.ProgressLine):
            if self._filter.accept_progress(progress):
                send_to_worker(
                    self._line,
                    {
                        "kind": "progress",
                        "collector": progress.collector,
                        "state": progress.state,
                        "elapsed_ms": progress.elapsed_ms,
                    },
                )
        elif line.startswith(WATCHER):
            if self._filter.accept_line(time.monotonic()):
                send_to_worker(self._line, {"kind": "watcher_line", "line": line.decode("utf-8", "replace")})
        else:
            self._noise = (self._noise + line + b"\n")[-MAX_NOISE:]

    def take_input(self, now: float) -> bytes:
        """Return heartbeats and cancellations to write to the runner."""
        words = b""
        if self._first_line is not None:
            words, self._first_line = self._first_line.encode() + b"\n", None
        if now - self._last_beat >= self._beat_s:
            self._last_beat = now
            self._beat += 1
            if len(self._beats) < 1000:
                self._beats[self._beat] = now
            words += b"hb %d\n" % self._beat
        words += self._handle_messages(now)
        if not self._frames and now - self._begun > self._timeout_s:
            raise SshError("no_answer", seconds=round(self._timeout_s), message=self.read_remaining())
        if now - self._reported >= REPORT_EVERY_S:
            self._reported = now
            send_to_worker(self._line, {"kind": "received", "bytes": self._bytes})
            self.report_dropped()
        return words

    def report_dropped(self) -> None:
        """Report to the worker how many frames were dropped, if the count changed."""
        count = self._filter.dropped.total()
        if count != self._dropped_reported:
            self._dropped_reported = count
            send_to_worker(self._line, {"kind": "dropped", "counts": dict(self._filter.dropped)})

    def _handle_messages(self, now: float) -> bytes:
        """Read messages of the worker. If the worker is silent, the session ends."""
        words = b""
        while (message := receive_from_worker(self._line, 0)) is not None:
            self._acknowledged = now
            if message["kind"] == "cancel" and self._canceled is None:
                self._canceled = now
                words = b"cancel\n"
        if now - self._acknowledged > SERVER_SILENCE_S:
            raise SshError("killed", reason="the worker does not answer")
        return words

    def should_close_input(self) -> bool:
        """Return whether to close the input, a few seconds after `cancel`."""
        return self._canceled is not None and time.monotonic() - self._canceled > CANCEL_GRACE_S

    def read_remaining(self) -> str:
        """Return the last line that is no frame, or the last of sudo: a mailer makes it add one."""
        noise = self._noise + self._partial_line + b" " + bytes(self._reader.noise)
        lines = noise.decode("utf-8", "replace").strip().split("\n")
        of_sudo = [line for line in lines[-5:] if "sudo" in line]
        return to_printable((of_sudo or lines)[-1], 200)

    def on_ended(self, status: int, connection: Connection) -> None:
        """Send the end of the session after the command ended with `status`."""
        trouble = self._reader.close()
        if not self._frames:
            raise _explain_missing_shell(status, self.read_remaining())
        if trouble or status not in COMPLETE:
            raise SshError("cut", reason=f"{trouble or 'stopped'}, exit status {status}")
        timings = connection.timings
        if self._first_ms is not None:
            timings["first_byte_ms"] = round(self._first_ms, 1)
        send_to_worker(
            self._line,
            {"kind": "ended", "status": status, "timings": timings, "round_trips_ms": self._round_trips},
        )


def _explain_missing_shell(status: int, message: str) -> SshError:
    """Explain why the runner did not start, from what the host printed."""
    if "sudo" in message:
        if "not in the sudoers" in message or "not allowed" in message:
            return SshError("sudo_denied", message=message)
        if "a password is required" in message:
            return SshError("sudo_asks", message=message)
        if "password" in message or "try again" in message or "terminal" in message:
            return SshError("sudo_password", message=message)
        if status == 127 or "not found" in message:
            return SshError("sudo_missing", message=message)
    return SshError("no_shell", status=status, message=message)
