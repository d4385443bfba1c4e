"""Drawings of a scheduler capture: who ran on each CPU, when each thread ran and waited, who woke whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from collectors.profiles.scheduling import WOKEN, SchedTable
from collectors.profiles.trie import I64
from culprit.domain.profiles.scheduling import MAX_WIDTH

TrackSegment = list[int]


@dataclass(frozen=True, slots=True)
class CpuTrack:
    """One CPU: segments [offset_ns, len_ns, task index, slices]; gaps are idle.

    `slices` above 1 means that many short slices were drawn as one; the task is the one that ran longest in
    it.
    """

    cpu: int
    segments: list[TrackSegment]


def build_cpu_tracks(table: SchedTable, from_ns: int, to_ns: int, width: int = 1200) -> list[CpuTrack]:
    """Who ran on each CPU in [from_ns, to_ns), with no more than about two segments per pixel and CPU.

    Slices narrower than a pixel are drawn together with their neighbours in that pixel, as long as what they
    ran together: a track shows how much of a pixel was busy, never more.
    """
    span = max(1, to_ns - from_ns)
    pixel = max(1, span // max(1, min(width, MAX_WIDTH)))
    start = np.maximum(table.t_ns, from_ns)
    stop = np.minimum(table.t_ns + table.len_ns, to_ns)
    inside = np.flatnonzero(stop > start)
    out: list[CpuTrack] = []
    for cpu in table.cpus:
        own = inside[table.cpu[inside] == cpu]
        own = own[np.argsort(start[own], kind="stable")]
        out.append(
            CpuTrack(
                cpu,
                _build_segments(
                    start[own] - from_ns, (stop - start)[own], table.task[own].astype(np.int64), pixel
                ),
            )
        )
    return out


def _build_segments(offset: I64, length: I64, subject: I64, pixel: int) -> list[TrackSegment]:
    """Stretches that do not overlap, in order; those narrower than a pixel are joined per pixel.

    A joined stretch has the subject that was longest in it."""
    wide = length >= pixel
    rows = [
        [o, n, t, 1]
        for o, n, t in zip(offset[wide].tolist(), length[wide].tolist(), subject[wide].tolist(), strict=True)
    ]
    small = ~wide
    if small.any():
        column = offset[small] // pixel
        pairs, which = np.unique(np.stack([column, subject[small]], axis=1), axis=0, return_inverse=True)
        ran = np.zeros(len(pairs), np.int64)
        np.add.at(ran, which.reshape(-1), length[small])
        order = np.lexsort((ran, pairs[:, 0]))
        last: npt.NDArray[Any] = np.r_[pairs[order][1:, 0] != pairs[order][:-1, 0], True]
        columns, first, counts = np.unique(column, return_index=True, return_counts=True)
        total = np.zeros(len(columns), np.int64)
        np.add.at(total, np.searchsorted(columns, column), length[small])
        rows += [
            list(row)
            for row in zip(
                offset[small][first].tolist(),
                total.tolist(),
                pairs[order][last, 1].tolist(),
                counts.tolist(),
                strict=True,
            )
        ]
        rows.sort()
    return rows


@dataclass(frozen=True, slots=True)
class ThreadTrack:
    """One thread (index): segments [offset_ns, len_ns, CPU, slices] and its waits for a CPU [offset_ns, len_ns, origin,
    waits].
    """

    task: int
    segments: list[TrackSegment]
    waits: list[TrackSegment]


@dataclass(frozen=True, slots=True)
class ThreadTracks:
    """The drawn threads, and how many there are in the range."""

    tracks: list[ThreadTrack]
    total: int


def build_thread_tracks(
    table: SchedTable,
    from_ns: int,
    to_ns: int,
    width: int = 1200,
    *,
    most: int = 40,
    first: Iterable[int] = (),
) -> ThreadTracks:
    """When threads ran and waited for a CPU in [from_ns, to_ns).

    `first` (indexes; below 0 is skipped) come first, then those with the most time on a CPU and in the queue. A wait
    that had not ended with the capture is drawn to its end.
    """
    pixel = max(1, (to_ns - from_ns) // max(1, min(width, MAX_WIDTH)))
    begin, end = table.t_ns, table.t_ns + table.len_ns
    waited = np.flatnonzero(table.delay_ns > 0)
    open_waits = np.flatnonzero(table.open_wait_ns > 0)
    wait_from = np.r_[begin[waited] - table.delay_ns[waited], table.t1_ns - table.open_wait_ns[open_waits]]
    wait_to = np.r_[begin[waited], np.full(len(open_waits), table.t1_ns)]
    wait_task = np.r_[table.task[waited], open_waits]
    wait_origin = np.r_[table.origin[waited], np.zeros(len(open_waits), np.uint8)]
    ran = _Stretches.cut((begin, end), table.task, table.cpu, (from_ns, to_ns))
    queued = _Stretches.cut((wait_from, wait_to), wait_task, wait_origin, (from_ns, to_ns))
    time_ns = np.zeros(len(table.tid), np.int64)
    np.add.at(time_ns, ran.task, ran.length)
    np.add.at(time_ns, queued.task, queued.length)
    active = np.flatnonzero(time_ns)
    by_time = active[np.lexsort((active, -time_ns[active]))].tolist()
    chosen = list(dict.fromkeys([task for task in first if task >= 0] + by_time))[:most]
    tracks = [ThreadTrack(task, ran.join(task, pixel), queued.join(task, pixel)) for task in chosen]
    return ThreadTracks(tracks, len(set(by_time) | set(chosen)))


@dataclass(frozen=True, slots=True, eq=False)
class _Stretches:
    """Stretches of time [n] inside a range: `offset` and `length` in ns, `task`, and `subject` (a CPU or an origin)."""

    offset: I64
    length: I64
    task: I64
    subject: I64

    @classmethod
    def cut(cls, bounds: tuple[I64, I64], task: Any, subject: Any, span: tuple[int, int]) -> _Stretches:
        (begin, end), (from_ns, to_ns) = bounds, span
        start, stop = np.maximum(begin, from_ns), np.minimum(end, to_ns)
        inside = np.flatnonzero(stop > start)
        order = inside[np.lexsort((start[inside], task[inside]))]
        return cls(
            start[order] - from_ns,
            (stop - start)[order],
            task[order].astype(np.int64),
            subject[order].astype(np.int64),
        )

    def join(self, task: int, pixel: int) -> list[TrackSegment]:
        own = slice(*np.searchsorted(self.task, [task, task + 1]).tolist())
        return _build_segments(self.offset[own], self.length[own], self.subject[own], pixel)


@dataclass(frozen=True, slots=True)
class Wakeup:
    """`task` was woken at `at_ns` on `from_cpu` and ran `delay_ns` later on `to_cpu`; tasks are indexes.

    `waker` ran there, or was interrupted there: see `context`, as in `SchedTable`. It is -1 where the CPU was idle.
    """

    at_ns: int
    delay_ns: int
    task: int
    waker: int
    from_cpu: int
    to_cpu: int
    context: int


@dataclass(frozen=True, slots=True)
class Wakeups:
    """`longest`: those after which a thread waited longest, in order of time. `total`: all in the range."""

    longest: list[Wakeup]
    total: int


def list_wakeups(table: SchedTable, from_ns: int, to_ns: int, most: int, task: int | None = None) -> Wakeups:
    """Who woke whom in [from_ns, to_ns): wake-ups of all threads, or to and from one.

    A wake-up is in the range if the time from it until the thread ran overlaps it.
    """
    at = table.t_ns - table.delay_ns
    chosen = (table.origin == WOKEN) & (table.wake_cpu >= 0) & (table.t_ns >= from_ns) & (at < to_ns)
    if task is not None:
        chosen &= (task >= 0) & ((table.task == task) | (table.waker == task))
    rows = np.flatnonzero(chosen)
    total = len(rows)
    if total > most:
        rows = rows[np.argpartition(-table.delay_ns[rows], most - 1)[:most]]
    rows = rows[np.lexsort((rows, at[rows]))]
    columns = (
        at,
        table.delay_ns,
        table.task,
        table.waker,
        table.wake_cpu,
        table.cpu,
        table.wake_context,
    )
    return Wakeups(
        [Wakeup(*values) for values in zip(*(column[rows].tolist() for column in columns), strict=True)],
        total,
    )
