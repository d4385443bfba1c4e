"""Response schemas of scheduler events."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import BaseModel


class SchedulerTaskResponse(BaseModel):
    """The run time and scheduling delays of one thread; delay statistics are null if it never waited."""

    task: str
    pid: int
    tid: int
    prio: int
    runtime_ms: float
    switches: int
    waits: int
    delay_sum_ms: float
    delay_avg_ms: float | None
    delay_p99_ms: float | None
    delay_max_ms: float | None
    delay_max_at_ns: int | None


class DelayHistogramResponse(BaseModel):
    """Number of waits by duration; `edges_us` are the lower edges of the bins."""

    edges_us: list[int]
    counts: list[int]


class RunQueueResponse(BaseModel):
    """Number of waiting tasks over time, in bins of `bin_ns`."""

    t0_ns: int
    bin_ns: int
    mean: list[float]
    peak: list[int]


class PerfTotals(BaseModel):
    """Totals that `perf sched timehist` counted in the same file."""

    tool: str
    switches: int
    parsed_switches: int
    run_ms: float | None


class SchedulerResponse(BaseModel):
    """Summary of the scheduler events of a run. `checked_against` are the totals of perf for the same file."""

    profile_id: UUID
    samples: int
    events: int
    lost: int
    lost_share: float
    inconsistent: int
    t0_ns: int
    t1_ns: int
    duration_ms: float
    tasks: list[SchedulerTaskResponse]
    tasks_total: int
    histogram: DelayHistogramResponse
    run_queue: RunQueueResponse
    checked_against: PerfTotals | None


class CpuTrackResponse(BaseModel):
    """One CPU; segments are [offset_ns, len_ns, index into tasks, number of merged slices]."""

    cpu: int
    segments: list[list[int]]


class ThreadTrackResponse(BaseModel):
    """One thread.

    Segments are [offset_ns, len_ns, CPU, number of merged slices]. Waits for a CPU are [offset_ns, len_ns, 1 after a
    wake-up or 2 after a preemption, number of merged waits].
    """

    task: int
    segments: list[list[int]]
    waits: list[list[int]]


class SchedulerTrackTask(BaseModel):
    """A thread that tracks or wake-ups refer to."""

    task: str
    pid: int
    tid: int


class WakeupResponse(BaseModel):
    """`task` was woken by `waker` on CPU `from_cpu`, `offset_ns` after `t0_ns`, and ran `delay_ns` later on `to_cpu`.

    `task` and `waker` are indexes into tasks; `waker` is null if that CPU was idle. In an interrupt, `waker` is the
    interrupted thread. `context` is `unknown` in recordings that were stored as text.
    """

    offset_ns: int
    delay_ns: int
    task: int
    waker: int | None
    from_cpu: int
    to_cpu: int
    context: Literal["unknown", "thread", "soft_interrupt", "hard_interrupt"]


class SchedulerTracksResponse(BaseModel):
    """Tracks of CPUs or threads in a range. `threads` is empty in tracks by CPU, `cpus` in tracks by thread.

    `threads` are those with the most time on a CPU and in the queue for one, `wakeups` those with the longest delay.
    """

    t0_ns: int
    t1_ns: int
    cpus: list[CpuTrackResponse]
    threads: list[ThreadTrackResponse]
    threads_total: int
    tasks: list[SchedulerTrackTask]
    wakeups: list[WakeupResponse]
    wakeups_total: int
