"""Build the tracks of a scheduler capture: tasks on each CPU, run and wait times of threads, and wake-ups."""

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
    """The track of one CPU: segments [offset_ns, len_ns, task index, slices]; gaps are idle.

    A segment with `slices` above 1 joins that many short slices; its task is the one that ran longest.
    """

    cpu: int
    segments: list[TrackSegment]


def build_cpu_tracks(table: SchedTable, from_ns: int, to_ns: int, width: int = 1200) -> list[CpuTrack]:
    """Return the tasks on each CPU in [from_ns, to_ns), with at most about two segments per pixel and CPU.

    Slices narrower than a pixel are joined with their neighbors in that pixel. The length of a joined segment is the
    sum of their lengths, so a track never overstates the busy time of a pixel.
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
    """Return the segments of intervals that are sorted and do not overlap; join those narrower than a pixel.

    A joined segment has the subject with most time in it.
    """
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
    """The track of one thread (index).

    Attributes:
        segments: run times, [offset_ns, len_ns, CPU, slices].
        waits: waits for a CPU, [offset_ns, len_ns, origin, waits].
    """

    task: int
    segments: list[TrackSegment]
    waits: list[TrackSegment]


@dataclass(frozen=True, slots=True)
class ThreadTracks:
    """The selected thread tracks, and the number of threads in the range."""

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
    """Return the run and wait times of at most `most` threads in [from_ns, to_ns).

    The threads `first` (indexes; negative ones are skipped) come first, then those with most time on a CPU and in the
    run queue. A wait that is open at the end of the capture ends there.
    """
    pixel = max(1, (to_ns - from_ns) // max(1, min(width, MAX_WIDTH)))
    begin, end = table.t_ns, table.t_ns + table.len_ns
    waited = np.flatnonzero(table.delay_ns > 0)
    open_waits = np.flatnonzero(table.open_wait_ns > 0)
    wait_from = np.r_[begin[waited] - table.delay_ns[waited], table.t1_ns - table.open_wait_ns[open_waits]]
    wait_to = np.r_[begin[waited], np.full(len(open_waits), table.t1_ns)]
    wait_task = np.r_[table.task[waited], open_waits]
    wait_origin = np.r_[table.origin[waited], np.zeros(len(open_waits), np.uint8)]
    ran = _ClippedIntervals.clip((begin, end), table.task, table.cpu, (from_ns, to_ns))
    queued = _ClippedIntervals.clip((wait_from, wait_to), wait_task, wait_origin, (from_ns, to_ns))
    time_ns = np.zeros(len(table.tid), np.int64)
    np.add.at(time_ns, ran.task, ran.length)
    np.add.at(time_ns, queued.task, queued.length)
    active = np.flatnonzero(time_ns)
    by_time = active[np.lexsort((active, -time_ns[active]))].tolist()
    chosen = list(dict.fromkeys([task for task in first if task >= 0] + by_time))[:most]
    tracks = [
        ThreadTrack(task, ran.build_segments(task, pixel), queued.build_segments(task, pixel))
        for task in chosen
    ]
    return ThreadTracks(tracks, len(set(by_time) | set(chosen)))


@dataclass(frozen=True, slots=True, eq=False)
class _ClippedIntervals:
    """Intervals [n] clipped to a range: `offset` and `length` in ns, `task`, and `subject` (a CPU or an origin)."""

    offset: I64
    length: I64
    task: I64
    subject: I64

    @classmethod
    def clip(
        cls, bounds: tuple[I64, I64], task: Any, subject: Any, span: tuple[int, int]
    ) -> _ClippedIntervals:
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

    def build_segments(self, task: int, pixel: int) -> list[TrackSegment]:
        own = slice(*np.searchsorted(self.task, [task, task + 1]).tolist())
        return _build_segments(self.offset[own], self.length[own], self.subject[own], pixel)


@dataclass(frozen=True, slots=True)
class Wakeup:
    """A wake-up of `task` at `at_ns` on `from_cpu`. It ran `delay_ns` later on `to_cpu`. Tasks are indexes.

    `waker` is the task that ran or was interrupted on `from_cpu` (see `context`, as in `SchedTable`); -1 if the CPU
    was idle.
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
    """Wake-ups with the longest delays in time order (`longest`), and the number of all in the range (`total`)."""

    longest: list[Wakeup]
    total: int


def list_wakeups(table: SchedTable, from_ns: int, to_ns: int, most: int, task: int | None = None) -> Wakeups:
    """Return the wake-ups in [from_ns, to_ns): of all threads, or of and by the thread `task`.

    A wake-up is in the range if the time from the wake-up until the thread ran overlaps the range.
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
