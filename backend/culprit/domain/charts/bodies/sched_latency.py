"""How long tasks waited for a CPU, and who ran meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.core.visuals.bodies.figure import Figure

MAX_WORST = 20
MAX_INSTEAD = 4


@dataclass(frozen=True, slots=True)
class Waits:
    """`counts[i]` waits took at least `edges_us[i]` and less than the next edge; `average`, `p99`, `most` in ms."""

    edges_us: tuple[int, ...]
    counts: tuple[int, ...]
    waits: int
    average: Figure
    p99: Figure
    most: Figure
    lost_share: float


@dataclass(frozen=True, slots=True)
class Ran:
    """Somebody who ran on the CPU during a wait, and for how long of it."""

    comm: str
    pid: int
    tid: int
    ran: Figure


@dataclass(frozen=True, slots=True)
class LongWait:
    """One wait: who, from when on, how long, for which CPU, and who ran there instead, the longest first.

    `preempted`: it was taken off the CPU, else it was woken. `others` is what further tasks ran meanwhile.
    """

    comm: str
    pid: int
    tid: int
    from_ns: int
    waited: Figure
    cpu: int
    preempted: bool
    instead: tuple[Ran, ...]
    others: Figure | None


@dataclass(frozen=True, slots=True)
class SchedLatency:
    """The waits of one capture, and of the one that it is compared with."""

    now: Waits
    before: Waits | None
    worst: tuple[LongWait, ...]
    kind: Literal["sched_latency"] = "sched_latency"
