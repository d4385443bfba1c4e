"""How the busiest process spreads its CPU time over its threads, what its runtime uses of it, and bursts of tasks."""

from __future__ import annotations

import re

import numpy as np

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Citation, Measure, Measured, Missing, Reading
from culprit.core.rules.view import Row, View

#: Of one CPU: below, no process is the busy one.
BUSY_PCT = 50.0
#: Garbage collectors and compilers of HotSpot, by the names that the kernel shows (15 characters). Go and Python
#: collect in threads that bear no name of their own.
RUNTIME = re.compile(r"(GC Thread|G1 |ParGC|ZWorker|ZDriver|XWorker|Shenandoah|Concurrent M|C[12] Compiler)")
#: Runnable tasks for each CPU that make a moment a burst.
BURST = 4.0


def _busiest(view: View) -> tuple[Row, list[Row]] | Missing:
    """The busiest process that was looked at, and its threads."""
    rows = view.rows("thread_groups")
    top = max(rows, key=lambda row: row.number("cpu_pct") or 0.0, default=None)
    if top is None or (top.number("cpu_pct") or 0.0) < BUSY_PCT:
        seen = view.has("proc_threads")
        return Missing(Sentence("missing.no_busy_process") if seen else view.why_not(("proc_threads",)))
    return top, [row for row in view.rows("threads") if row.text("pid") == top.text("pid")]


def _largest_thread(view: View) -> Reading:
    """Percent of the busiest process's CPU that is its busiest thread's."""
    found = _busiest(view)
    if isinstance(found, Missing):
        return found
    top, threads = found
    hottest = max(threads, key=lambda row: row.number("cpu_pct") or 0.0, default=None)
    if hottest is None:
        return Missing(view.why_not(("proc_threads",)))
    cpu = top.number("cpu_pct") or 1.0
    detail: dict[str, str | int | float] = {
        "name": top.text("comm"), "thread": hottest.text("comm"), "threads": len(threads), "cpu": round(cpu),
    }  # fmt: skip
    share = min(100.0, 100.0 * (hottest.number("cpu_pct") or 0.0) / cpu)
    return [Measured(share, (("pid", top.text("pid")),), (hottest.cite, top.cite), len(threads), (), detail)]


def _runtime(view: View) -> Reading:
    """Percent of the busiest process's CPU that its collector of garbage and its compilers use, where it names them."""
    found = _busiest(view)
    if isinstance(found, Missing):
        return found
    top, threads = found
    mine = [row for row in threads if RUNTIME.match(row.text("comm"))]
    if not mine:
        return Missing(Sentence("missing.no_runtime_threads", {"name": top.text("comm")}))
    mine.sort(key=lambda row: -(row.number("cpu_pct") or 0.0))
    used = sum(row.number("cpu_pct") or 0.0 for row in mine)
    detail: dict[str, str | int | float] = {"name": top.text("comm"), "thread": mine[0].text("comm")}
    share = min(100.0, 100.0 * used / (top.number("cpu_pct") or 1.0))
    cites = (*(row.cite for row in mine[:4]), top.cite)
    return [Measured(share, (("pid", top.text("pid")),), cites, len(mine), (), detail)]


def _bursts(view: View) -> Reading:
    """How many times the number of runnable tasks rose far above that of the CPUs."""
    found = []
    for lane in view.of("sched.runq_per_cpu"):
        values = np.nan_to_num(lane.values[:, 0])
        above = values > BURST
        begins = np.flatnonzero(above & ~np.r_[False, above[:-1]])
        lines = () if lane.lines is None else tuple(int(lane.lines[at]) for at in begins[:6])
        top = int(np.argmax(values)) if len(values) else 0
        cite = lane.cite
        if lane.lines is not None and len(values):
            lines = lines or (int(lane.lines[top]),)
            cite = Citation(cite.run, cite.collector, cite.artifact, cite.part, lines)
        if len(values):
            detail: dict[str, str | int | float] = {"most": round(float(values[top]), 1)}
            found.append(Measured(float(len(begins)), (), (cite,), len(values), (), detail))
    return found or Missing(view.why_not(("cpu_stat",)))


_THREADS = (("proc_threads",),)
LARGEST_THREAD = Measure("proc.largest_thread_share_pct", "pct", Text("CPU of the busiest thread", "最忙线程占比"),
                         _THREADS, _largest_thread)  # fmt: skip
RUNTIME_SHARE = Measure("proc.runtime_threads_share_pct", "pct", Text("CPU of the runtime itself", "运行时自身占 CPU"),
                        _THREADS, _runtime)  # fmt: skip
BURSTS = Measure("sched.bursts_count", "count", Text("Bursts of runnable tasks", "可运行任务突发次数"),
                 (("cpu_stat",),), _bursts)  # fmt: skip
