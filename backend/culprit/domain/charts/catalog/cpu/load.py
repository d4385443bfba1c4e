"""What the load is made of: tasks that want a CPU and tasks that wait in the kernel, and where those stand."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from collectors.contract import Text
from culprit.core.rules.contract import Citation
from culprit.core.rules.measures.disk import MEANS_NOTHING
from culprit.core.rules.view import View, reads
from culprit.core.visuals.bodies.figure import Figure
from culprit.core.visuals.bodies.panels import Level, Panels, Part
from culprit.core.visuals.contract import Builder, Visual
from culprit.core.visuals.places import lines_of
from culprit.core.visuals.readings import Wanted, cell, first, panel, span, wanted

MAX_PLACES = 12
#: The load is told in hundredths: below this its share of a CPU is too coarse to count CPUs by.
LEAST_LOAD = 0.5
_TITLE = Text("What the load is made of", "负载的构成")
_RUNNING = Text("Want a CPU (R)", "需要 CPU（R）")
_BLOCKED = Text("Wait for I/O (D)", "等待 I/O（D）")
_PROCESSES = Text("Processes in D", "处于 D 状态的进程")
_LOAD = Text("Load, 1 minute", "1 分钟负载")
_CPUS = Text("CPUs", "CPU 数")


def _build(view: View) -> Sequence[Visual]:
    stacked = wanted(view, (("runnable", _RUNNING, "sched.runq"), ("blocked", _BLOCKED, "sched.blocked")))
    load = first(view, "load.avg1")
    beside = [Wanted("load", _LOAD, load)] if load is not None else []
    stuck = wanted(view, (("processes", _PROCESSES, "proc.d_state_count"),))
    if not stacked:
        stacked = wanted(
            view, (("runnable", _RUNNING, "proc.r_state_count"), ("blocked", _BLOCKED, "proc.d_state_count"))
        )
        stuck = []
    made = (
        panel("tasks", Text("Tasks", "任务数"), "count", "stack", stacked, beside, _cpus(view)),
        panel("load", _LOAD, "count", "line", beside) if not stacked else None,
        panel("stuck", _PROCESSES, "count", "area", stuck),
    )
    panels = tuple(one for one in made if one is not None)
    places = _places(view)
    if not panels:
        return ()
    body = Panels(
        *span(panels),
        panels,
        parts_say=Text(
            "Where blocked tasks stand, mean number of them", "阻塞任务所在的内核函数（平均个数）"
        ),
        parts=places[:MAX_PLACES],
    )
    return [Visual("load", "load", _TITLE, body=body, left_out=max(0, len(places) - MAX_PLACES))]


def _cpus(view: View) -> tuple[Level, ...]:
    """How many CPUs there are, as the load and the load of each CPU tell together."""
    load, each = first(view, "load.avg1"), first(view, "load.avg1_per_cpu")
    if load is None or each is None or len(load.t_ns) != len(each.t_ns):
        return ()
    told = np.flatnonzero((each.values[:, 0] > 0) & (load.values[:, 0] > LEAST_LOAD))
    if not len(told):
        return ()
    row = int(told[-1])
    quotient = float(load.values[row, 0] / each.values[row, 0])
    if not math.isfinite(quotient):
        return ()
    count = round(quotient)
    return (Level(_CPUS, Figure(float(count), "count", lines_of(each, [row]))),)


def _places(view: View) -> tuple[Part, ...]:
    """Kernel functions in which tasks stood uninterruptibly, with how many did at a moment, the most first.

    Threads that were watched count by the share of looks in which they stood there, all others by how many of them
    each scan of the host found.
    """
    counts: defaultdict[str, float] = defaultdict(float)
    cites: dict[str, tuple[float, Citation]] = {}
    names: defaultdict[str, set[str]] = defaultdict(set)

    def add(place: str, comm: str, count: float, cite: Citation) -> None:
        if place in MEANS_NOTHING or count <= 0:
            return
        counts[place] += count
        names[place].add(comm)
        if place not in cites or count > cites[place][0]:
            cites[place] = (count, cite)

    for row in view.rows("threads"):
        stood, blocked = cell(row, "wchan_pct") or 0.0, cell(row, "blocked_pct") or 0.0
        add(row.text("wchan"), row.text("comm"), min(stood, blocked) / 100.0, row.cite)
    for row in view.rows("wchans"):
        seen, scans = cell(row, "seen") or 0.0, cell(row, "scans") or 0.0
        add(row.text("wchan"), row.text("comm"), seen / scans if scans >= 1 else 0.0, row.cite)
    ranked = sorted(counts, key=lambda place: (-counts[place], place))
    return tuple(
        Part(
            place,
            ", ".join(sorted(names[place])[:3]),
            Figure(round(counts[place], 3), "count", cites[place][1]),
        )
        for place in ranked
    )


BUILDER = Builder(
    id="load",
    title=_TITLE,
    says=Text(
        "The load counts tasks that want a CPU and tasks that wait uninterruptibly. More of the first than CPUs means"
        " that CPU is short; the second wait for something else, and stand where the list says.",
        "负载同时计入需要 CPU 的任务与不可中断等待的任务。前者多于 CPU 数说明 CPU 不足；后者在等别的东西，位置见列表。",
    ),
    reads=reads(
        metrics=(
            "sched.runq", "sched.blocked", "load.avg1", "load.avg1_per_cpu", "proc.r_state_count", "proc.d_state_count",
        ),
        tables=("threads", "wchans"),
    ),
    collectors=("vmstat", "loadavg", "proc_top"),
    rules=("F-LOAD-HIGH", "F-LOAD-HIGH-CPU-LOW", "F-PROC-BLOCKED", "F-PROC-DSTATE", "F-SCHED-RUNQ"),
    build=_build,
)  # fmt: skip
