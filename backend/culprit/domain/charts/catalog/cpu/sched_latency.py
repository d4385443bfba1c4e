"""Chart of the waits for a CPU with those of the baseline, and the tasks that ran during the longest waits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectors.contract import Sentence, Text
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.gauges import Gauge, Gauges
from culprit.domain.charts.bodies.sched_latency import (
    MAX_RUNNING,
    MAX_WORST,
    LongWait,
    RunningTask,
    SchedLatency,
    WaitHistogram,
)
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.panel_series import read_cell
from culprit.domain.profiles.scheduling import SchedulingWait, compute_delay_histogram, list_longest_waits
from culprit.domain.rules.view import HostView, SchedulerEvents, TableRow, request_view

_TITLE = Text("Waits for a CPU", "等待 CPU 的时间")
_MS = 1e6
MAX_ROWS = 20
#: Share of lost events above which waits are unreliable, as in F-PERF-LOST.
MAX_LOST_SHARE = 0.01
#: Milliseconds per switch, as in F-SCHED-DELAY.
WARN_MS, BAD_MS = 1.0, 3.0


def _build_charts(view: HostView) -> Sequence[RunChart]:
    if view.sched is not None:
        rendered = _build_event_chart(view.sched, view.baseline.sched if view.baseline else None)
        if rendered is not None:
            return [rendered]
    return _build_counter_charts(view.rows("sched_delay"))


def _build_event_chart(now: SchedulerEvents, before: SchedulerEvents | None) -> RunChart | None:
    waits = _build_wait_histogram(now)
    if waits is None:
        return None
    notes = []
    if now.table.lost_share > MAX_LOST_SHARE:
        notes.append(
            Sentence("doubt.lost", {"lost": now.table.lost, "total": now.table.lost + now.table.events})
        )
    comms = now.table.comm.all()
    worst = tuple(
        _build_long_wait(now, comms, longest_wait)
        for longest_wait in list_longest_waits(now.table, MAX_WORST)
    )
    body = SchedLatency(waits, _build_wait_histogram(before) if before is not None else None, worst)
    return RunChart("sched-latency", "sched-latency", _TITLE, body=body, notes=tuple(notes))


def _build_wait_histogram(of: SchedulerEvents) -> WaitHistogram | None:
    """Return the histogram of the waits, or None without any."""
    delays = of.table.delay_ns[of.table.delay_ns >= 0]
    if not len(delays):
        return None
    histogram = compute_delay_histogram(of.table)
    rank = -(-99 * len(delays) // 100) - 1
    return WaitHistogram(
        tuple(histogram.edges_us),
        tuple(histogram.counts),
        len(delays),
        _make_ms_figure(of, float(delays.mean())),
        _make_ms_figure(of, float(np.partition(delays, rank)[rank])),
        _make_ms_figure(of, float(delays.max())),
        of.table.lost_share,
    )


def _make_ms_figure(of: SchedulerEvents, ns: float) -> Figure:
    return Figure(ns / _MS, "ms", of.citation)


def _build_long_wait(of: SchedulerEvents, comms: Sequence[str], scheduling_wait: SchedulingWait) -> LongWait:
    def who(task: int) -> tuple[str, int, int]:
        return comms[task], int(of.table.pid[task]), int(of.table.tid[task])

    rest = sum(ns for _, ns in scheduling_wait.instead[MAX_RUNNING:])
    return LongWait(
        *who(scheduling_wait.task),
        scheduling_wait.from_ns,
        _make_ms_figure(of, scheduling_wait.waited_ns),
        scheduling_wait.cpu,
        scheduling_wait.preempted,
        tuple(
            RunningTask(*who(task), _make_ms_figure(of, ns))
            for task, ns in scheduling_wait.instead[:MAX_RUNNING]
        ),
        _make_ms_figure(of, rest) if rest else None,
    )


def _build_counter_charts(rows: Sequence[TableRow]) -> list[RunChart]:
    """Return a chart of the mean wait per switch of each process, which is known without scheduler events."""
    known = [(value, row) for row in rows if (value := read_cell(row, "delay_ms_per_switch")) is not None]
    known.sort(key=lambda item: (-item[0], item[1].text("pid")))
    gauges = tuple(
        Gauge(
            row.text("pid"),
            f"{row.text('comm')} {row.text('pid')}",
            Figure(value, "ms", row.citation),
            None,
            tone="bad" if value > BAD_MS else "warn" if value > WARN_MS else "good",
            also=tuple(
                (label, Figure(number, unit, row.citation))
                for label, column, unit in _ALSO
                if (number := read_cell(row, column)) is not None
            ),
        )
        for value, row in known[:MAX_ROWS]
    )
    if not gauges:
        return []
    body = Gauges(Text("Mean wait at each turn", "每次等待的平均时间"), "", gauges)
    return [
        RunChart(
            "sched-latency",
            "sched-latency",
            _TITLE,
            body=body,
            left_out=max(0, len(known) - MAX_ROWS),
            notes=(Sentence("chart.only_means"),),
        )
    ]


_ALSO = (
    (Text("Threads", "线程"), "threads", "count"),
    (Text("Switches", "切换次数"), "switches", "count"),
    (Text("Share of the time spent waiting", "等待时间占比"), "wait_share_pct", "pct"),
)

BUILDER = ChartBuilder(
    id="sched-latency",
    title=_TITLE,
    summary=Text(
        "Each bar is twice as long a wait as the one before it. Waits of milliseconds are normal where CPUs are shared;"
        " what matters is that they grew. The list names who had the CPU in the longest ones.",
        "每一柱的等待时间是前一柱的两倍。共享 CPU 时等几毫秒属正常，要看是否变长。"
        "列表给出最长等待期间占用该 CPU 的任务。",
    ),
    reads=request_view(tables=("sched_delay",), stacks=("sched",)),
    collectors=("perf_sched", "proc_schedstat"),
    rules=(
        "F-SCHED-DELAY", "F-THREADS-OVERSUB", "F-CPU-THROTTLED-WAITING", "F-SCHED-NEIGHBOUR", "F-KTHREAD-STARVES",
        "F-SCHED-RUNQ",
    ),
    build=_build_charts,
)  # fmt: skip
