"""Body of the scheduler latency chart: waits for a CPU, and the tasks that ran during the longest waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure

MAX_WORST = 20
MAX_RUNNING = 4


@dataclass(frozen=True, slots=True)
class WaitHistogram:
    """`counts[i]` waits took at least `edges_us[i]` and less than the next edge; `average`, `p99`, `maximum` in ms."""

    edges_us: tuple[int, ...]
    counts: tuple[int, ...]
    waits: int
    average: Figure
    p99: Figure
    maximum: Figure
    lost_share: float


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that ran on the CPU during a wait, and its CPU time in that wait."""

    comm: str
    pid: int
    tid: int
    ran: Figure


@dataclass(frozen=True, slots=True)
class LongWait:
    """One wait of a task for a CPU, with the tasks that ran there instead, the longest first.

    `preempted`: the task was preempted before the wait, else it was woken. `others` is the CPU time of further tasks.
    """

    comm: str
    pid: int
    tid: int
    from_ns: int
    waited: Figure
    cpu: int
    preempted: bool
    instead: tuple[RunningTask, ...]
    others: Figure | None


@dataclass(frozen=True, slots=True)
class SchedLatency:
    """The waits of a capture and of its baseline."""

    now: WaitHistogram
    before: WaitHistogram | None
    worst: tuple[LongWait, ...]
    kind: Literal["sched_latency"] = "sched_latency"
