"""Chart of the system call time of each thread, by class of system call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.stages import StageColumn, StageRow, Stages
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import cite_lines, make_figure, read_figure
from culprit.domain.charts.syscall_classes import SYSCALL_CLASSES, SyscallClass, classify_syscall
from culprit.domain.rules.view import HostView, TableRow, request_view

MAX_THREADS = 24
TITLE = Text("What threads spent their calls on", "线程的系统调用时间花在哪里")


def build_charts(view: HostView) -> Sequence[RunChart]:
    """Return one table of threads, the thread with most time in calls first.

    strace takes precedence over perf trace, because it reports descriptors.
    """
    rows = view.rows("strace_calls") or view.rows("syscalls")
    by_thread: dict[str, list[TableRow]] = {}
    for row in rows:
        total = read_figure(row, "total", "ms")
        if total is not None and total.value > 0:
            by_thread.setdefault(row.text("tid"), []).append(row)
    if not by_thread:
        return ()
    order = sorted(
        by_thread, key=lambda tid: (-sum(row.number("total") or 0.0 for row in by_thread[tid]), tid)
    )
    sums = {tid: _sum_by_class(by_thread[tid]) for tid in order[:MAX_THREADS]}
    used = [(name, label) for name, label in SYSCALL_CLASSES if any(name in item for item in sums.values())]
    columns = tuple(StageColumn(name, label, "none") for name, label in used)
    stage_rows = tuple(
        StageRow(_format_thread(tid, by_thread[tid]), tuple(item.get(name) for name, _ in used))
        for tid, item in sums.items()
    )
    body = Stages(Text("thread", "线程"), columns, stage_rows)
    left_out = max(0, len(order) - MAX_THREADS)
    return (RunChart(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=left_out),)


def _format_thread(tid: str, rows: Sequence[TableRow]) -> str:
    return f"{rows[0].text('comm')[:40]} {tid}".strip()


def _sum_by_class(rows: Sequence[TableRow]) -> dict[SyscallClass, Figure]:
    """Return the total time of each class in ms, cited by its calls, the longest first."""
    by_class: dict[SyscallClass, list[TableRow]] = {}
    for row in sorted(rows, key=lambda row: -(row.number("total") or 0.0)):
        by_class.setdefault(classify_syscall(row.text("syscall"), row.text("what")), []).append(row)
    results = {}
    for name, calls in by_class.items():
        citation = cite_lines(calls[0].citation, [line for row in calls for line in row.citation.lines])
        total = make_figure(sum(row.number("total") or 0.0 for row in calls), "ms", citation)
        if total is not None:
            results[name] = replace(total, value=round(total.value, 3))
    return results


BUILDER = ChartBuilder(
    id="thread-calls",
    title=TITLE,
    summary=Text(
        "One row per thread: for how long its system calls lasted in all, by what they waited for. Time that is in "
        "none of them was spent on a CPU or waiting for one. Bars are to the scale of their column.",
        "每行一个线程：其系统调用按等待对象累计的时长。不在任何一列中的时间是在 CPU 上或在等 CPU。条形按各列比例。",
    ),
    reads=request_view(tables=["strace_calls", "syscalls"]),
    collectors=("strace", "perf_trace"),
    rules=("F-LOCK-FUTEX-PILEUP", "F-LOCK-FUTEX-LONG", "F-LOCK-FUTEX-BUSY", "F-PROC-BLOCKED"),
    build=build_charts,
)
