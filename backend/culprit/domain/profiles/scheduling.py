"""Compute scheduler delays and run queue lengths from a scheduler capture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collectors.profiles.scheduling import PREEMPTED, SchedTable
from collectors.profiles.trie import I64

MAX_WIDTH = 8192
EDGES_US = tuple([0] + [1 << k for k in range(26)])
"""Lower edges of the log2 histogram in microseconds: 0-1, 1-2, 2-4, …; the last bucket is open (≥ 33.6 s)."""


@dataclass(frozen=True, slots=True)
class DelayHistogram:
    """Histogram of waits: `counts[i]` waits took at least `edges_us[i]` and less than the next edge."""

    edges_us: list[int]
    counts: list[int]


def compute_delay_histogram(table: SchedTable, task: int | None = None) -> DelayHistogram:
    """Return the histogram of the waits of all tasks, or of one by index. Trailing empty buckets are left out."""
    chosen = table.delay_ns >= 0
    if task is not None:
        chosen = chosen & (table.task == task)
    bucket = np.searchsorted(np.array(EDGES_US) * 1000, table.delay_ns[chosen], "right") - 1
    counts = np.bincount(bucket, minlength=1)
    return DelayHistogram(list(EDGES_US[: len(counts)]), counts.tolist())


@dataclass(frozen=True, slots=True)
class RunQueueLength:
    """Number of runnable tasks that wait for a CPU, over the whole host: time-weighted mean and peak per bin."""

    t0_ns: int
    bin_ns: int
    mean: list[float]
    peak: list[int]


def compute_run_queue(table: SchedTable, bins: int = 600) -> RunQueueLength:
    """Return the run queue length over time. Waits without a known start do not count."""
    span = table.t1_ns - table.t0_ns
    waited = table.delay_ns > 0
    if span <= 0 or bins < 1 or not waited.any():
        return RunQueueLength(table.t0_ns, max(span, 0), [], [])
    bins = min(bins, MAX_WIDTH, span)
    bin_ns = -(-span // bins)
    stop = table.t_ns[waited]
    start = stop - table.delay_ns[waited]
    times = np.r_[start, stop, table.t0_ns + np.arange(bins + 1) * bin_ns]
    change = np.r_[np.ones(len(start)), -np.ones(len(stop)), np.zeros(bins + 1)].astype(np.int64)
    order = np.lexsort((change, times))
    times, level = times[order], np.cumsum(change[order])
    at = np.clip((times - table.t0_ns) // bin_ns, 0, bins - 1)
    area = np.zeros(bins)
    np.add.at(area, at[:-1], level[:-1] * np.diff(times))
    peak = np.zeros(bins, np.int64)
    np.maximum.at(peak, at, level)
    return RunQueueLength(
        table.t0_ns, int(bin_ns), [round(m, 3) for m in (area / bin_ns).tolist()], peak.tolist()
    )


@dataclass(frozen=True, slots=True)
class SchedulingWait:
    """One wait of `task` (index) that ended when it was switched in on `cpu`.

    `instead` lists (task, ns) of the tasks that ran on that CPU during the wait, the longest first. The affinity of
    the task may include other CPUs, and the task may have migrated from another CPU.
    """

    task: int
    from_ns: int
    waited_ns: int
    cpu: int
    preempted: bool
    instead: tuple[tuple[int, int], ...]


def list_longest_waits(table: SchedTable, most: int = 20) -> list[SchedulingWait]:
    """List the longest waits, the longest first, each with the tasks that ran on the CPU during it."""
    waited = np.flatnonzero(table.delay_ns > 0)
    if len(waited) > most:
        waited = waited[np.argpartition(-table.delay_ns[waited], most - 1)[:most]]
    order = waited[np.lexsort((table.t_ns[waited], -table.delay_ns[waited]))]
    by_cpu: dict[int, I64] = {}
    scheduling_waits: list[SchedulingWait] = []
    for row in order.tolist():
        cpu, stop = int(table.cpu[row]), int(table.t_ns[row])
        start = stop - int(table.delay_ns[row])
        if cpu not in by_cpu:
            by_cpu[cpu] = np.flatnonzero(table.cpu == cpu)
        own = by_cpu[cpu]
        begun = table.t_ns[own]
        # Slices of a CPU do not overlap: of those that begin before the wait, only the last can reach into it.
        low = max(0, int(np.searchsorted(begun, start, "right")) - 1)
        inside = own[low : int(np.searchsorted(begun, stop, "left"))]
        ran = np.minimum(table.t_ns[inside] + table.len_ns[inside], stop) - np.maximum(
            table.t_ns[inside], start
        )
        tasks, which = np.unique(table.task[inside[ran > 0]], return_inverse=True)
        sums = np.zeros(len(tasks), np.int64)
        np.add.at(sums, which.reshape(-1), ran[ran > 0])
        longest = np.lexsort((tasks, -sums))
        scheduling_waits.append(
            SchedulingWait(
                int(table.task[row]),
                start,
                stop - start,
                cpu,
                bool(table.origin[row] == PREEMPTED),
                tuple((int(tasks[at]), int(sums[at])) for at in longest.tolist()),
            )
        )
    return scheduling_waits
