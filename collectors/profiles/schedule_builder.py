"""Build a `SchedTable` from the raw switch and waking events of a text (`collectors.parse.perf.perf_sched`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from collectors.contract import Times
from collectors.profiles.scheduling import (
    CUT_END,
    CUT_START,
    NOT_KNOWN,
    OTHER,
    PREEMPTED,
    STATES,
    WOKEN,
    SchedTable,
)
from collectors.profiles.trie import I32, I64, U8, Strings


@dataclass(frozen=True, slots=True, eq=False)
class SchedEvents:
    """Raw events. Switches [n]: `t_ns`, `cpu`, `prev`, `next` (thread ids), `state` (index into STATES). Wakings [m]:
    `wake_t_ns`, `wake_tid`, and where they happened: `waker_tid`, `wake_cpu`. `comm`, `pid`, `prio`: by thread id, as
    last seen.
    """

    t_ns: Times
    cpu: I32
    prev: I32
    next: I32
    state: U8
    wake_t_ns: Times
    wake_tid: I32
    waker_tid: I32
    wake_cpu: I32
    comm: dict[int, str]
    pid: dict[int, int]
    prio: dict[int, int]
    lost: int = 0
    unreadable: int = 0


def build_sched_table(events: SchedEvents) -> SchedTable:
    """Slices and waits from raw events in any order; vector steps over sorted columns."""
    order = np.lexsort((events.t_ns, events.cpu))
    t, cpu = events.t_ns[order], events.cpu[order]
    prev, following, state = events.prev[order], events.next[order], events.state[order]
    delay, origin, waking, last_seen, open_wait = _compute_waits(events, order)
    wakers, wake_cpus = np.r_[events.waker_tid, -1], np.r_[events.wake_cpu, -1]
    every = np.r_[events.t_ns, events.wake_t_ns]
    t0, t1 = (int(every.min()), int(every.max())) if len(every) else (0, 0)
    same = cpu[1:] == cpu[:-1]
    begin = np.flatnonzero(same)
    first = np.flatnonzero(np.r_[True, ~same]) if len(t) else np.zeros(0, np.int64)
    last = np.flatnonzero(np.r_[~same, True]) if len(t) else np.zeros(0, np.int64)
    matches = following[begin] == prev[begin + 1]
    since = np.where(matches, t[begin], np.maximum(t[begin], last_seen[begin + 1]))
    unknown = np.full(len(first), -1, np.int64)
    parts: dict[str, tuple[Any, ...]] = {
        "t_ns": (since, np.maximum(t0, last_seen[first]), t[last]),
        "end": (t[begin + 1], t[first], np.full(len(last), t1)),
        "cpu": (cpu[begin], cpu[first], cpu[last]),
        "tid": (prev[begin + 1], prev[first], following[last]),
        "state": (state[begin + 1], state[first], np.full(len(last), len(STATES) - 1)),
        "delay_ns": (np.where(matches, delay[begin], -1), unknown, delay[last]),
        "origin": (np.where(matches, origin[begin], OTHER), unknown * 0, origin[last]),
        "cut": (begin * 0, unknown * 0 + CUT_START, unknown * 0 + CUT_END),
        "waking": (np.where(matches, waking[begin], -1), unknown, waking[last]),
    }
    c: dict[str, Any] = {name: np.concatenate(part) for name, part in parts.items()}
    keep = np.flatnonzero(c["tid"] != 0)
    keep = keep[np.argsort(c["t_ns"][keep], kind="stable")]
    tids, task = np.unique(c["tid"][keep], return_inverse=True)
    ids = tids.tolist()
    waker = wakers[c["waking"][keep]]
    place = np.minimum(np.searchsorted(tids, waker), max(len(tids) - 1, 0))
    has_run = tids[place] == waker if len(tids) else np.zeros(0, bool)
    return SchedTable(
        t_ns=c["t_ns"][keep].astype(np.int64),
        len_ns=(c["end"] - c["t_ns"])[keep].astype(np.int64),
        cpu=c["cpu"][keep].astype(np.int32),
        task=task.astype(np.int32),
        state=c["state"][keep].astype(np.uint8),
        delay_ns=c["delay_ns"][keep].astype(np.int64),
        origin=c["origin"][keep].astype(np.uint8),
        cut=c["cut"][keep].astype(np.uint8),
        waker=np.where(has_run, place, -1).astype(np.int32),
        wake_cpu=wake_cpus[c["waking"][keep]].astype(np.int32),
        wake_context=np.full(len(keep), NOT_KNOWN, np.uint8),
        tid=tids.astype(np.int32),
        pid=np.array([events.pid.get(i, -1) for i in ids], np.int32),
        prio=np.array([events.prio.get(i, -1) for i in ids], np.int32),
        open_wait_ns=np.array([open_wait.get(i, 0) for i in ids], np.int64),
        comm=Strings.of([events.comm.get(i, f":{i}") for i in ids]),
        t0_ns=t0,
        t1_ns=t1,
        cpus=tuple(np.unique(cpu).tolist()),
        events=len(every),
        lost=events.lost,
        inconsistent=int((~matches).sum()),
        unreadable=events.unreadable,
    )


_OUT, _WAKE, _IN = 0, 1, 2


def _compute_waits(events: SchedEvents, order: I64) -> tuple[I64, U8, I64, I64, dict[int, int]]:
    """For each switch in `order`: how long the task switched in had waited (-1 unknown), what the wait began with, the
    index of the waking (-1: none), and when the task switched out was last seen before (smallest integer: never); and
    how long each thread that waits at the end has waited.

    All events of a thread are put in order; a stretch begins where it is switched out. Within a stretch it
    waits from its beginning if it was preempted, else from the first waking.
    """
    n, m = len(events.t_ns), len(events.wake_t_ns)
    tid = np.r_[events.prev, events.wake_tid, events.next].astype(np.int64)
    t = np.r_[events.t_ns, events.wake_t_ns, events.t_ns]
    what = np.repeat(np.array([_OUT, _WAKE, _IN]), [n, m, n])
    row = np.r_[np.arange(n), np.arange(m), np.arange(n)]
    by_task = np.lexsort((what, t, tid))
    tid, t, what, row = tid[by_task], t[by_task], what[by_task], row[by_task]
    starts = (what == _OUT) | np.r_[True, tid[1:] != tid[:-1]][: len(tid)]
    stretch = np.cumsum(starts) - 1
    head = np.flatnonzero(starts)
    preempted = (what[head] == _OUT) & (
        np.r_[events.state, np.uint8(1)][np.where(what[head] == _OUT, row[head], n)] == 0
    )
    never = np.iinfo(np.int64).max
    ready = np.full(len(head), never)
    wakes = np.flatnonzero(what == _WAKE)
    np.minimum.at(ready, stretch[wakes], t[wakes])
    kind = np.where(preempted, PREEMPTED, WOKEN).astype(np.uint8)
    ready = np.where(preempted, t[head], ready)
    entries = np.flatnonzero(what == _IN)
    known = (ready[stretch[entries]] <= t[entries]) & (tid[entries] != 0)
    known &= np.r_[True, stretch[entries][1:] != stretch[entries][:-1]][: len(entries)]
    delay, origin = np.full(n, -1, np.int64), np.zeros(n, np.uint8)
    delay[row[entries]] = np.where(known, t[entries] - np.where(known, ready[stretch[entries]], 0), -1)
    origin[row[entries]] = np.where(known, kind[stretch[entries]], OTHER)
    first_waking = np.full(len(head), -1, np.int64)
    woken_stretches, at_first = np.unique(stretch[wakes], return_index=True)
    first_waking[woken_stretches] = row[wakes[at_first]]
    waking = np.full(n, -1, np.int64)
    waking[row[entries]] = np.where(known & ~preempted[stretch[entries]], first_waking[stretch[entries]], -1)
    entered = np.zeros(len(head), bool)
    entered[stretch[entries]] = True
    seen = np.where(ready < never, ready, t[head])
    seen[stretch[entries]] = t[entries]
    exits = np.flatnonzero(what == _OUT)
    before = np.maximum(stretch[exits] - 1, 0)
    is_known = (stretch[exits] > 0) & (tid[head[before]] == tid[exits])
    last_seen = np.zeros(n, np.int64)
    last_seen[row[exits]] = np.where(is_known, seen[before], -never)
    # An earlier stretch without an entry is one in which the thread ran when the capture began.
    is_last = np.r_[tid[head][1:] != tid[head][:-1], True][: len(head)]
    waiting = np.flatnonzero(is_last & ~entered & (ready < never) & (tid[head] != 0))
    end = int(t.max()) if len(t) else 0
    open_wait = dict(zip(tid[head[waiting]].tolist(), (end - ready[waiting]).tolist(), strict=True))
    return delay[order], origin[order], waking[order], last_seen[order], open_wait
