"""Messages between a worker and the child that runs an SSH session, as unions distinguished by `kind`.

They travel as JSON over `Line`. The fork server adds `BugMessage` if the child raises an exception.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict, cast

from culprit.infra.sandbox.fork_server import Line
from culprit.infra.ssh.errors import Stage
from culprit.json_types import Json


class StartMessage(TypedDict):
    """To the child, after the login: the command and its limits."""

    kind: Literal["start"]
    order: Json


class LeaseMessage(TypedDict):
    """To the child, every few seconds: the worker still holds the lease."""

    kind: Literal["lease_held"]


class CancelMessage(TypedDict):
    """To the child: end the capture."""

    kind: Literal["cancel"]


class StageMessage(TypedDict):
    """A step of the session begins."""

    kind: Literal["stage"]
    stage: Stage


class ReadyMessage(TypedDict):
    """The login succeeded; `timings` has milliseconds per step."""

    kind: Literal["ready"]
    timings: dict[str, float]


class ReceivedMessage(TypedDict):
    """How many bytes the host has sent so far."""

    kind: Literal["received"]
    bytes: int


class FrameMessage(TypedDict):
    """A frame of the runner, as `Spool.describe` returns it."""

    kind: Literal["frame"]
    frame: Json


class ProgressMessage(TypedDict):
    """The state of one collector on the host."""

    kind: Literal["progress"]
    collector: str
    state: str
    elapsed_ms: int


class DroppedMessage(TypedDict):
    """How many frames were dropped so far, by reason."""

    kind: Literal["dropped"]
    counts: dict[str, int]


class WatcherLineMessage(TypedDict):
    """A line that a watcher printed."""

    kind: Literal["watcher_line"]
    line: str


class EndedMessage(TypedDict):
    """The command ended. A preflight check adds its output and when its clock reading arrived."""

    kind: Literal["ended"]
    status: int
    timings: dict[str, float]
    round_trips_ms: list[float]
    text: NotRequired[str]
    clock_received_ns: NotRequired[int | None]


class ErrorMessage(TypedDict):
    """The session failed with an SshError."""

    kind: Literal["error"]
    error: str
    params: dict[str, str | int | float]


class DiskFullMessage(TypedDict):
    """The file system of the platform has no space for what the host sends."""

    kind: Literal["disk_full"]


class BugMessage(TypedDict):
    """The child raised an exception."""

    kind: Literal["bug"]
    trace: str


WorkerMessage = StartMessage | LeaseMessage | CancelMessage
SessionMessage = (
    StageMessage
    | ReadyMessage
    | ReceivedMessage
    | FrameMessage
    | ProgressMessage
    | DroppedMessage
    | WatcherLineMessage
    | EndedMessage
    | ErrorMessage
    | DiskFullMessage
    | BugMessage
)


def send_to_worker(line: Line, message: SessionMessage) -> None:
    """Send one message of the child. Raises HangupError."""
    line.send(message)


def send_to_session(line: Line, message: WorkerMessage) -> None:
    """Send one message of the worker. Raises HangupError."""
    line.send(message)


def receive_from_worker(line: Line, timeout_s: float) -> WorkerMessage | None:
    """Return the next message of the worker, or None after `timeout_s`. Raises HangupError."""
    return cast(WorkerMessage | None, line.receive(timeout_s))


def receive_from_session(line: Line, timeout_s: float) -> SessionMessage | None:
    """Return the next message of the child, or None after `timeout_s`. Raises HangupError."""
    return cast(SessionMessage | None, line.receive(timeout_s))
