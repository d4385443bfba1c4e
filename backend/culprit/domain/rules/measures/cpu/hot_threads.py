"""How the busiest process spreads its CPU time over its threads, what its runtime uses of it, and bursts of tasks."""

from __future__ import annotations

import re

import numpy as np

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Measurement, MissingData, Reading
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.readings import cite_series
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: Of one CPU: below, no process is the busy one.
BUSY_PCT = 50.0
#: Garbage collectors and compilers of HotSpot, by the names that the kernel shows (15 characters). Go and Python
#: collect in threads that bear no name of their own.
RUNTIME = re.compile(r"(GC Thread|G1 |ParGC|ZWorker|ZDriver|XWorker|Shenandoah|Concurrent M|C[12] Compiler)")
#: Runnable tasks for each CPU that make a moment a burst.
BURST = 4.0


def _busiest(view: HostView) -> tuple[TableRow, list[TableRow]] | MissingData:
    """The busiest process that was looked at, and its threads."""
    rows = view.rows("thread_groups")
    top = max(rows, key=lambda row: row.number("cpu_pct") or 0.0, default=None)
    if top is None or (top.number("cpu_pct") or 0.0) < BUSY_PCT:
        seen = view.has_data("proc_threads")
        return MissingData(
            Sentence("missing.no_busy_process") if seen else view.missing_reason(("proc_threads",))
        )
    return top, [row for row in view.rows("threads") if row.text("pid") == top.text("pid")]


def _largest_thread(view: HostView) -> Reading:
    """Percent of the busiest process's CPU that is its busiest thread's."""
    result = _busiest(view)
    if isinstance(result, MissingData):
        return result
    top, threads = result
    hottest = max(threads, key=lambda row: row.number("cpu_pct") or 0.0, default=None)
    if hottest is None:
        return MissingData(view.missing_reason(("proc_threads",)))
    cpu = top.number("cpu_pct") or 1.0
    detail: dict[str, str | int | float] = {
        "name": top.text("comm"), "thread": hottest.text("comm"), "threads": len(threads), "cpu": round(cpu),
    }  # fmt: skip
    share = min(100.0, 100.0 * (hottest.number("cpu_pct") or 0.0) / cpu)
    return [
        Measurement(
            share, (("pid", top.text("pid")),), (hottest.citation, top.citation), len(threads), (), detail
        )
    ]


def _runtime(view: HostView) -> Reading:
    """Percent of the busiest process's CPU that its collector of garbage and its compilers use, where it names them."""
    result = _busiest(view)
    if isinstance(result, MissingData):
        return result
    top, threads = result
    mine = [row for row in threads if RUNTIME.match(row.text("comm"))]
    if not mine:
        return MissingData(Sentence("missing.no_runtime_threads", {"name": top.text("comm")}))
    mine.sort(key=lambda row: -(row.number("cpu_pct") or 0.0))
    used = sum(row.number("cpu_pct") or 0.0 for row in mine)
    detail: dict[str, str | int | float] = {"name": top.text("comm"), "thread": mine[0].text("comm")}
    share = min(100.0, 100.0 * used / (top.number("cpu_pct") or 1.0))
    cites = (*cite_rows(mine), top.citation)
    return [Measurement(share, (("pid", top.text("pid")),), cites, len(mine), (), detail)]


def _bursts(view: HostView) -> Reading:
    """How many times the number of runnable tasks rose far above that of the CPUs."""
    results = []
    for series in view.series_of("sched.runq_per_cpu"):
        values = np.nan_to_num(series.values[:, 0])
        above = values > BURST
        begins = np.flatnonzero(above & ~np.r_[False, above[:-1]])
        if len(values):
            citation = cite_series(series, values, np.arange(len(values)), "mean")
            detail: dict[str, str | int | float] = {"most": round(float(values.max()), 1)}
            results.append(Measurement(float(len(begins)), (), (citation,), len(values), (), detail))
    return results or MissingData(view.missing_reason(("cpu_stat",)))


_THREADS = (("proc_threads",),)
LARGEST_THREAD = Measure("proc.largest_thread_share_pct", "pct", Text("CPU of the busiest thread", "最忙线程占比"),
                         _THREADS, _largest_thread)  # fmt: skip
RUNTIME_SHARE = Measure("proc.runtime_threads_share_pct", "pct", Text("CPU of the runtime itself", "运行时自身占 CPU"),
                        _THREADS, _runtime)  # fmt: skip
BURSTS = Measure("sched.bursts_count", "count", Text("Bursts of runnable tasks", "可运行任务突发次数"),
                 (("cpu_stat",),), _bursts)  # fmt: skip
