"""What threads spent the time of their system calls on, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.core.rules.view import Row, View, reads
from culprit.core.visuals.bodies.figure import Figure
from culprit.core.visuals.bodies.stages import StageColumn, StageRow, Stages
from culprit.core.visuals.calls import CLASSES, Class, class_of
from culprit.core.visuals.contract import Builder, Visual
from culprit.core.visuals.places import at_lines, figure, finite

MAX_THREADS = 24
TITLE = Text("What threads spent their calls on", "线程的系统调用时间花在哪里")


def build(view: View) -> Sequence[Visual]:
    """One table of threads, the one that was in calls longest first; strace knows descriptors, perf trace does not."""
    rows = view.rows("strace_calls") or view.rows("syscalls")
    by_thread: dict[str, list[Row]] = {}
    for row in rows:
        total = figure(row, "total", "ms")
        if total is not None and total.value > 0:
            by_thread.setdefault(row.text("tid"), []).append(row)
    if not by_thread:
        return ()
    order = sorted(
        by_thread, key=lambda tid: (-sum(row.number("total") or 0.0 for row in by_thread[tid]), tid)
    )
    sums = {tid: _by_class(by_thread[tid]) for tid in order[:MAX_THREADS]}
    seen = [(name, label) for name, label in CLASSES if any(name in one for one in sums.values())]
    columns = tuple(StageColumn(name, label, "none") for name, label in seen)
    made = tuple(
        StageRow(_name(tid, by_thread[tid]), tuple(one.get(name) for name, _ in seen))
        for tid, one in sums.items()
    )
    body = Stages(Text("thread", "线程"), columns, made)
    left_out = max(0, len(order) - MAX_THREADS)
    return (Visual(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=left_out),)


def _name(tid: str, rows: Sequence[Row]) -> str:
    return f"{rows[0].text('comm')[:40]} {tid}".strip()


def _by_class(rows: Sequence[Row]) -> dict[Class, Figure]:
    """The sum of each class, cited by its calls, the costliest first."""
    mine: dict[Class, list[Row]] = {}
    for row in sorted(rows, key=lambda row: -(row.number("total") or 0.0)):
        mine.setdefault(class_of(row.text("syscall"), row.text("what")), []).append(row)
    found = {}
    for name, some in mine.items():
        cite = at_lines(some[0].cite, [line for row in some for line in row.cite.lines])
        total = finite(sum(row.number("total") or 0.0 for row in some), "ms", cite)
        if total is not None:
            found[name] = replace(total, value=round(total.value, 3))
    return found


BUILDER = Builder(
    id="thread-calls",
    title=TITLE,
    says=Text(
        "One row per thread: for how long its system calls lasted in all, by what they waited for. Time that is in "
        "none of them was spent on a CPU or waiting for one. Bars are to the scale of their column.",
        "每行一个线程：其系统调用按等待对象累计的时长。不在任何一列中的时间是在 CPU 上或在等 CPU。条形按各列比例。",
    ),
    reads=reads(tables=["strace_calls", "syscalls"]),
    collectors=("strace", "perf_trace"),
    rules=("F-LOCK-FUTEX-PILEUP", "F-LOCK-FUTEX-LONG", "F-LOCK-FUTEX-BUSY", "F-PROC-BLOCKED"),
    build=build,
)
