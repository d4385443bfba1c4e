"""What the scheduler did, made from raw switch and waking events: slices on CPUs, waits, tasks. Columns, mappable.

The native reader makes a `SchedTable` of a recording (`collectors.parse.perf.perf_data`), `schedule_builder` of events
in a text.

Meaning of the words, and where they differ from `perf sched timehist`:
- A slice is the time between two switches on one CPU; it belongs to the task that the second one switches out, as in
  timehist. The first and the last slice of each CPU are cut by the capture: they are kept for drawing but are not in
  the runtime, as in timehist. `switches` counts how often the task was switched out.
- Where the event that switched it in is missing, a slice begins at the earliest when its task was last switched in or
  out or woken elsewhere. timehist counts all the time since the switch before as its runtime.
- timehist files the last slice of a dying task under tid -1, as perf has no task for that sample any more; the event
  still names it, and so do we.
- A wait (delay) ends when the task is switched in. It begins when the task was woken, or when it was switched out while
  it could still run (preempted, state R). timehist's `sch delay` knows wakeups only: that part alone is `woken`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from collectors.contract import Times
from collectors.profiles import column_file
from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.trie import I32, I64, U8, Strings

VERSION = 1
KIND = "sched"
STATES = "RSDTtXZPI?"
"""prev_state letters; the code of a state is its index. R is runnable: the task was preempted."""

CUT_START, CUT_END, CUT_SELECTION = 1, 2, 4
"""Flags of a slice: it began before the first event of its CPU, went on after the last, or after a selected time."""

OTHER, WOKEN, PREEMPTED = 0, 1, 2
"""What a wait began with; OTHER is not known (the slice has no delay)."""

NOT_KNOWN, IN_THREAD, IN_SOFT_INTERRUPT, IN_HARD_INTERRUPT = 0, 1, 2, 3
"""In what a thread was woken. The text of `perf script` does not tell."""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One thread over the capture. Times in ns; delays are of all waits, -1 where there was none.

    `delay_max_at_ns` is when the longest wait began. `open_wait_ns`: how long it had been waiting when the capture
    ended, 0 if it was not. `cut_ns`: time on a CPU in slices that the capture cuts.
    """

    comm: str
    pid: int
    tid: int
    prio: int
    runtime_ns: int
    switches: int
    waits: int
    delay_sum_ns: int
    delay_p99_ns: int
    delay_max_ns: int
    delay_max_at_ns: int
    woken_sum_ns: int
    cut_ns: int
    open_wait_ns: int

    @property
    def delay_avg_ns(self) -> float:
        """Mean wait; 0 where there was none."""
        return self.delay_sum_ns / self.waits if self.waits else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class SchedTable:
    """Slices [n] in order of their begin: `t_ns` switched in, `len_ns` on the CPU, `cpu`, `task` (index below), `state`
    on leaving, `delay_ns` waited before (-1 unknown), `origin` of the wait, `cut` flags. Idle is a gap. If it was
    woken: `waker` (index of the task that ran there, -1 where that CPU was idle), `wake_cpu` (-1: not woken, or not
    known) and `wake_context` (NOT_KNOWN to IN_HARD_INTERRUPT).

    Tasks [k]: `tid`, `pid` (-1 unknown), `prio`, `comm`, `open_wait_ns`. `lost`, `events`, `inconsistent` (switches
    that do not follow from the one before on their CPU) and `unreadable` (lines) limit how far to trust the rest.
    """

    t_ns: Times
    len_ns: I64
    cpu: I32
    task: I32
    state: U8
    delay_ns: I64
    origin: U8
    cut: U8
    waker: I32
    wake_cpu: I32
    wake_context: U8
    tid: I32
    pid: I32
    prio: I32
    open_wait_ns: I64
    comm: Strings
    t0_ns: int
    t1_ns: int
    cpus: tuple[int, ...]
    events: int
    lost: int
    inconsistent: int
    unreadable: int

    @property
    def lost_share(self) -> float:
        """Lost events as a share of all that happened."""
        return self.lost / max(1, self.lost + self.events)

    def at_times(self, change: Callable[[Times], Times]) -> SchedTable:
        """Return the same schedule on another clock. `change` maps times; lengths are differences of them."""
        begin, end = change(self.t_ns), change(self.t_ns + self.len_ns)
        ready = change(self.t_ns - np.maximum(self.delay_ns, 0))
        t0, t1 = (int(change(np.array([t], np.int64))[0]) for t in (self.t0_ns, self.t1_ns))
        open_wait_ns = t1 - change(np.array(self.t1_ns - self.open_wait_ns, np.int64))
        return replace(
            self, t_ns=begin, len_ns=end - begin, delay_ns=np.where(self.delay_ns < 0, -1, begin - ready),
            open_wait_ns=open_wait_ns, t0_ns=t0, t1_ns=t1,
        )  # fmt: skip

    def select_range(self, from_ns: int, to_ns: int) -> SchedTable:
        """Return what happened in [from_ns, to_ns): slices are cut to it, waits are those that ended in it.

        All tasks stay, also those that did not run then. Waits that are open at the end of the capture count if the
        range reaches it.
        """
        stop = np.minimum(self.t_ns + self.len_ns, to_ns)
        rows = np.flatnonzero((self.t_ns < to_ns) & (self.t_ns + self.len_ns >= from_ns))
        begins, goes_on = self.t_ns[rows] >= from_ns, self.t_ns[rows] + self.len_ns[rows] >= to_ns
        start = np.maximum(self.t_ns[rows], from_ns)
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in _SLICES}
        columns |= {
            "t_ns": start,
            "len_ns": stop[rows] - start,
            "delay_ns": np.where(begins, columns["delay_ns"], -1),
            "cut": columns["cut"] | np.where(goes_on, CUT_SELECTION, 0).astype(np.uint8),
        }
        open_wait_ns = self.open_wait_ns if to_ns > self.t1_ns else np.zeros_like(self.open_wait_ns)
        return replace(
            self,
            **columns,
            open_wait_ns=open_wait_ns,
            t0_ns=max(self.t0_ns, from_ns),
            t1_ns=min(self.t1_ns, to_ns),
        )

    def tasks(self) -> list[TaskRow]:
        """One row per task that ran, longest total wait first."""
        k = len(self.tid)
        whole = self.cut & (CUT_START | CUT_END) == 0
        runtime, cut_ns = np.zeros(k, np.int64), np.zeros(k, np.int64)
        np.add.at(runtime, self.task[whole], self.len_ns[whole])
        np.add.at(cut_ns, self.task[~whole], self.len_ns[~whole])
        switches = np.bincount(self.task[self.cut & (CUT_END | CUT_SELECTION) == 0], minlength=k)
        waited = np.flatnonzero(self.delay_ns >= 0)
        # Numbers of 16 bits are sorted in linear time.
        keys = self.task[waited].astype(np.uint16 if k <= 1 << 16 else np.int32)
        order = waited[np.argsort(keys, kind="stable")]
        edges = np.searchsorted(self.task[order], np.arange(k + 1))
        woken = np.zeros(k, np.int64)
        by_wake = waited[self.origin[waited] == WOKEN]
        np.add.at(woken, self.task[by_wake], self.delay_ns[by_wake])
        comms = self.comm.all()
        rows: list[TaskRow] = []
        for i in range(k):
            own = order[edges[i] : edges[i + 1]]
            delays = self.delay_ns[own]
            n = len(own)
            rank = -(-99 * n // 100) - 1
            latest = n - 1 - int(delays[::-1].argmax()) if n else 0
            rows.append(
                TaskRow(
                    comm=comms[i],
                    pid=int(self.pid[i]),
                    tid=int(self.tid[i]),
                    prio=int(self.prio[i]),
                    runtime_ns=int(runtime[i]),
                    switches=int(switches[i]),
                    waits=n,
                    delay_sum_ns=int(delays.sum()),
                    delay_p99_ns=int(np.partition(delays, rank)[rank]) if n else -1,
                    delay_max_ns=int(delays[latest]) if n else -1,
                    delay_max_at_ns=int(self.t_ns[own[latest]] - delays[latest]) if n else -1,
                    woken_sum_ns=int(woken[i]),
                    cut_ns=int(cut_ns[i]),
                    open_wait_ns=int(self.open_wait_ns[i]),
                )
            )
        return sorted(rows, key=lambda row: -row.delay_sum_ns)

    def save(self, path: Path) -> int:
        """Write the file (see `collectors.profiles.column_file`). Returns its size in bytes."""
        meta = {name: getattr(self, name) for name in _META} | {"cpus": list(self.cpus)}
        arrays = {name: getattr(self, name) for name in (*_SLICES, *_TASKS)}
        arrays |= {"comm.blob": self.comm.blob, "comm.offsets": self.comm.offsets}
        return column_file.write_columns(path, KIND, VERSION, meta, arrays)

    @classmethod
    def load(cls, path: Path) -> SchedTable:
        """Map a file written by `save`. Raises DamagedFile."""
        file = column_file.read_columns(path, KIND, VERSION)
        try:
            a, meta = file.arrays, file.meta
            fields: dict[str, Any] = {name: a[name] for name in (*_SLICES, *_TASKS) if name not in _WAKINGS}
            fields |= {name: a.get(name, _without_wakings(name, len(a["t_ns"]))) for name in _WAKINGS}
            fields |= {name: int(meta[name]) for name in _META}
            comm = Strings(a["comm.blob"], a["comm.offsets"])
            table = cls(**fields, comm=comm, cpus=tuple(meta["cpus"]))
        except (KeyError, TypeError) as error:
            raise DamagedFileError(f"missing or misshapen: {error}") from error
        n, k = len(table.t_ns), len(table.tid)
        sizes = [len(getattr(table, name)) == n for name in _SLICES] + [
            len(getattr(table, name)) == k for name in _TASKS
        ]
        places = (
            (table.task.min() < 0, table.task.max() >= k, table.waker.min() < -1, table.waker.max() >= k)
            if n
            else ()
        )
        if not all(sizes) or len(table.comm) != k or any(places):
            raise DamagedFileError("inconsistent: tasks")
        if any(getattr(table, name).dtype.str != _TYPES[name] for name in (*_SLICES, *_TASKS)):
            raise DamagedFileError("inconsistent: types")
        offsets = comm.offsets
        if offsets[0] != 0 or (np.diff(offsets) < 0).any() or offsets[-1] > len(comm.blob):
            raise DamagedFileError("inconsistent: strings")
        if n and (
            table.state.max() >= len(STATES)
            or table.origin.max() > PREEMPTED
            or table.wake_context.max() > IN_HARD_INTERRUPT
            or table.len_ns.min() < 0
        ):
            raise DamagedFileError("inconsistent: slices")
        return table


_WAKINGS = ("waker", "wake_cpu", "wake_context")
"""Files of earlier versions do not have these columns."""

_SLICES = ("t_ns", "len_ns", "cpu", "task", "state", "delay_ns", "origin", "cut", *_WAKINGS)
_TASKS = ("tid", "pid", "prio", "open_wait_ns")
_TYPES = {
    "t_ns": "<i8",
    "len_ns": "<i8",
    "delay_ns": "<i8",
    "open_wait_ns": "<i8",
    "cpu": "<i4",
    "task": "<i4",
}
_TYPES |= {"tid": "<i4", "pid": "<i4", "prio": "<i4", "state": "|u1", "origin": "|u1", "cut": "|u1"}
_TYPES |= {"waker": "<i4", "wake_cpu": "<i4", "wake_context": "|u1"}
_META = ("t0_ns", "t1_ns", "events", "lost", "inconsistent", "unreadable")


def _without_wakings(name: str, count: int) -> Any:
    return np.full(count, NOT_KNOWN, np.uint8) if name == "wake_context" else np.full(count, -1, np.int32)
