"""Chart of the components of the load: runnable tasks, blocked tasks, and the kernel functions of blocked tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from collectors.contract import Text
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.panels import PanelLevel, PanelPart, Panels
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import cite_rows
from culprit.domain.charts.panel_series import (
    PanelSeries,
    build_panel,
    compute_span,
    find_series,
    list_series,
    read_cell,
)
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.measures.disk.queues import MEANS_NOTHING
from culprit.domain.rules.view import HostView, request_view

MAX_PLACES = 12
#: Minimum load to derive the number of CPUs from load and load per CPU, because the load average has two decimals.
MIN_LOAD = 0.5
#: NR_CPUS of the largest distribution kernels. A larger quotient is not a number of CPUs.
_MAX_CPUS = 8_192
_TITLE = Text("What the load is made of", "负载的构成")
_RUNNING = Text("Want a CPU (R)", "需要 CPU（R）")
_BLOCKED = Text("Wait for I/O (D)", "等待 I/O（D）")
_PROCESSES = Text("Processes in D", "处于 D 状态的进程")
_LOAD = Text("Load, 1 minute", "1 分钟负载")
_CPUS = Text("CPUs", "CPU 数")


def _build_charts(view: HostView) -> Sequence[RunChart]:
    stacked = list_series(
        view, (("runnable", _RUNNING, "sched.runq"), ("blocked", _BLOCKED, "sched.blocked"))
    )
    load = find_series(view, "load.avg1")
    panel_series = [PanelSeries("load", _LOAD, load)] if load is not None else []
    stuck = list_series(view, (("processes", _PROCESSES, "proc.d_state_count"),))
    if not stacked:
        stacked = list_series(
            view, (("runnable", _RUNNING, "proc.r_state_count"), ("blocked", _BLOCKED, "proc.d_state_count"))
        )
        stuck = []
    new_panels = (
        build_panel(
            "tasks", Text("Tasks", "任务数"), "count", "stack", stacked, panel_series, _build_cpu_level(view)
        ),
        build_panel("load", _LOAD, "count", "line", panel_series) if not stacked else None,
        build_panel("stuck", _PROCESSES, "count", "area", stuck),
    )
    panels = tuple(panel for panel in new_panels if panel is not None)
    places = _list_blocked_functions(view)
    if not panels:
        return ()
    body = Panels(
        *compute_span(panels),
        panels,
        parts_label=Text(
            "Where blocked tasks stand, mean number of them", "阻塞任务所在的内核函数（平均个数）"
        ),
        parts=places[:MAX_PLACES],
    )
    return [RunChart("load", "load", _TITLE, body=body, left_out=max(0, len(places) - MAX_PLACES))]


def _build_cpu_level(view: HostView) -> tuple[PanelLevel, ...]:
    """Return the number of CPUs: the load average divided by the load average per CPU."""
    load, each = find_series(view, "load.avg1"), find_series(view, "load.avg1_per_cpu")
    if load is None or each is None or len(load.t_ns) != len(each.t_ns):
        return ()
    reported = np.flatnonzero((each.values[:, 0] > 0) & (load.values[:, 0] > MIN_LOAD))
    if not len(reported):
        return ()
    row = int(reported[-1])
    load_avg, load_avg_per_cpu = float(load.values[row, 0]), float(each.values[row, 0])
    if load_avg_per_cpu * _MAX_CPUS < load_avg:
        return ()
    count = round(load_avg / load_avg_per_cpu)
    return (PanelLevel(_CPUS, Figure(float(count), "count", cite_rows(each, [row]))),)


def _list_blocked_functions(view: HostView) -> tuple[PanelPart, ...]:
    """Return the kernel functions of tasks in uninterruptible sleep with their mean number, the most tasks first.

    Sampled threads count by the share of samples in the function, all others by their mean number per scan.
    """
    counts: defaultdict[str, float] = defaultdict(float)
    cites: dict[str, tuple[float, Citation]] = {}
    names: defaultdict[str, set[str]] = defaultdict(set)

    def add(place: str, comm: str, count: float, citation: Citation) -> None:
        if place in MEANS_NOTHING or count <= 0:
            return
        counts[place] += count
        names[place].add(comm)
        if place not in cites or count > cites[place][0]:
            cites[place] = (count, citation)

    for row in view.rows("threads"):
        in_wchan, blocked = read_cell(row, "wchan_pct") or 0.0, read_cell(row, "blocked_pct") or 0.0
        add(row.text("wchan"), row.text("comm"), min(in_wchan, blocked) / 100.0, row.citation)
    for row in view.rows("wchans"):
        seen, scans = read_cell(row, "seen") or 0.0, read_cell(row, "scans") or 0.0
        add(row.text("wchan"), row.text("comm"), seen / scans if scans >= 1 else 0.0, row.citation)
    ranked = sorted(counts, key=lambda place: (-counts[place], place))
    return tuple(
        PanelPart(
            place,
            ", ".join(sorted(names[place])[:3]),
            Figure(round(counts[place], 3), "count", cites[place][1]),
        )
        for place in ranked
    )


BUILDER = ChartBuilder(
    id="load",
    title=_TITLE,
    summary=Text(
        "The load counts tasks that want a CPU and tasks that wait uninterruptibly. More of the first than CPUs means"
        " that CPU is short. The second wait for something else; the list shows where.",
        "负载同时计入需要 CPU 的任务与不可中断等待的任务。前者多于 CPU 数说明 CPU 不足；后者等待其他资源（见列表）。",
    ),
    reads=request_view(
        metrics=(
            "sched.runq", "sched.blocked", "load.avg1", "load.avg1_per_cpu", "proc.r_state_count", "proc.d_state_count",
        ),
        tables=("threads", "wchans"),
    ),
    collectors=("vmstat", "loadavg", "proc_top"),
    rules=("F-LOAD-HIGH", "F-LOAD-HIGH-CPU-LOW", "F-PROC-BLOCKED", "F-PROC-DSTATE", "F-SCHED-RUNQ"),
    build=_build_charts,
)  # fmt: skip
