"""Pages that had to come back from a disk, beside the memory that was there for them and the tasks that waited."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.core.rules.view import Row, View, reads
from culprit.core.visuals.bodies.figure import Figure
from culprit.core.visuals.bodies.panels import Level, Panel, Panels, Part
from culprit.core.visuals.contract import Builder, Visual
from culprit.core.visuals.readings import Wanted, cell, first, panel, span, wanted

MAX_PROCESSES = 8
_TITLE = Text("Page faults over time", "缺页随时间的变化")
_LIMIT = Text("Limit of the group", "控制组限额")
_STUCK = (
    ("blocked", Text("Tasks waiting for I/O", "等待 I/O 的任务"), "sched.blocked"),
    ("stuck", Text("Processes in D", "处于 D 状态的进程"), "proc.d_state_count"),
)


def _build(view: View) -> Sequence[Visual]:
    group = _group(view)
    where = {"cgroup": group.text("path")} if group else {}
    host = wanted(view, (("host", Text("Host", "主机"), "mem.refault_per_s"),))
    own = (
        wanted(view, (("group", where.get("cgroup", ""), "cgroup.refault_file_per_s"),), **where)
        if group
        else []
    )
    made = (
        panel(
            "faults", Text("Major faults", "主缺页"), "per_s", "area",
            wanted(view, (("faults", Text("Major faults", "主缺页"), "mem.pgmajfault_per_s"),)),
        ),
        panel("refaults", Text("Pages read again", "重新读入的页"), "pages_per_s", "line", [*own, *host]),
        _memory(view, group),
        panel("stuck", Text("Tasks that wait", "等待的任务"), "count", "area", wanted(view, _STUCK)),
    )  # fmt: skip
    panels = tuple(one for one in made if one is not None)
    if not any(one.id in ("faults", "refaults") for one in panels):
        return ()
    who = _processes(view)
    body = Panels(
        *span(panels),
        panels,
        parts_say=Text("Major faults by process", "各进程的主缺页"),
        parts=tuple(who[:MAX_PROCESSES]),
    )
    subject = tuple(where.items())
    return [
        Visual(
            "page-faults",
            "page-faults",
            _TITLE,
            subject,
            body=body,
            left_out=max(0, len(who) - MAX_PROCESSES),
        )
    ]


def _group(view: View) -> Row | None:
    """The group that reads most again; of several with a limit of their own the fullest."""
    known = {lane.labels.get("cgroup") for lane in view.of("cgroup.memory_usage_kb")}
    rows = [row for row in view.rows("cgroup_mem") if row.text("path") in known]
    return max(
        rows,
        key=lambda row: (
            cell(row, "limit_kb") is not None,
            cell(row, "refault_file_per_s") or 0.0,
            cell(row, "usage_pct") or 0.0,
        ),
        default=None,
    )


def _memory(view: View, group: Row | None) -> Panel | None:
    """What the group uses of its limit, else what the host has left of its memory."""
    label = Text("Memory", "内存")
    if group is not None and (lane := first(view, "cgroup.memory_usage_kb", cgroup=group.text("path"))):
        limit = cell(group, "limit_kb")
        levels = (Level(_LIMIT, Figure(limit, "kb", group.cite)),) if limit else ()
        used = Wanted("used", Text("Used by the group", "控制组已用"), lane)
        return panel("memory", label, "kb", "area", [used], levels=levels)
    rows = (("available", Text("Available on the host", "主机可用"), "mem.available_kb"),)
    return panel("memory", label, "kb", "area", wanted(view, rows))


def _processes(view: View) -> list[Part]:
    """Who faults: as perf counted it where it did, else as the processes themselves."""
    counted = view.rows("process_faults")
    column = "major_faults_per_s" if counted else "major_faults"
    found = [
        (value, row)
        for row in counted or view.rows("processes")
        if (value := cell(row, column)) and value > 0
    ]
    found.sort(key=lambda one: (-one[0], one[1].text("pid")))
    return [
        Part(row.text("comm"), f"pid {row.text('pid')}", Figure(value, "per_s", row.cite))
        for value, row in found
    ]


BUILDER = Builder(
    id="page-faults",
    title=_TITLE,
    says=Text(
        "A major fault waits for a disk. Where pages are read again and again while the memory of a group stands at its"
        " limit, what it works on does not fit; the tasks below wait meanwhile.",
        "主缺页要等磁盘。控制组内存顶在限额上而页面反复重新读入，说明工作集放不下；下方的任务此时在等待。",
    ),
    reads=reads(
        metrics=(
            "mem.pgmajfault_per_s", "mem.refault_per_s", "mem.available_kb", "cgroup.memory_usage_kb",
            "cgroup.refault_file_per_s", "sched.blocked", "proc.d_state_count",
        ),
        tables=("cgroup_mem", "processes", "process_faults"),
    ),
    collectors=("vmstat_proc", "cgroup_mem"),
    rules=(
        "F-MEM-MAJFAULT", "F-MEM-MAJFAULT-PROCESS", "F-MEM-REFAULT-CGROUP", "F-MEM-REFAULT-HOST", "F-DISK-READAHEAD",
        "F-MEM-PSI-CGROUP",
    ),
    build=_build,
)  # fmt: skip
