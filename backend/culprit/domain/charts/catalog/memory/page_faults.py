"""Chart of major page faults, with the available memory and the waiting tasks."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.panels import Panel, PanelLevel, PanelPart, Panels
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.panel_series import (
    PanelSeries,
    build_panel,
    compute_span,
    find_series,
    list_series,
    read_cell,
)
from culprit.domain.rules.view import HostView, TableRow, request_view

MAX_PROCESSES = 8
_TITLE = Text("Page faults over time", "缺页随时间的变化")
_LIMIT = Text("Limit of the group", "控制组限额")
_STUCK = (
    ("blocked", Text("Tasks waiting for I/O", "等待 I/O 的任务"), "sched.blocked"),
    ("stuck", Text("Processes in D", "处于 D 状态的进程"), "proc.d_state_count"),
)


def _build_charts(view: HostView) -> Sequence[RunChart]:
    group = _find_refault_group(view)
    where = {"cgroup": group.text("path")} if group else {}
    host = list_series(view, (("host", Text("Host", "主机"), "mem.refault_per_s"),))
    own = (
        list_series(view, (("group", where.get("cgroup", ""), "cgroup.refault_file_per_s"),), **where)
        if group
        else []
    )
    new_panels = (
        build_panel(
            "faults", Text("Major faults", "主缺页"), "per_s", "area",
            list_series(view, (("faults", Text("Major faults", "主缺页"), "mem.pgmajfault_per_s"),)),
        ),
        build_panel("refaults", Text("Pages read again", "重新读入的页"), "pages_per_s", "line", [*own, *host]),
        _build_memory_panel(view, group),
        build_panel("stuck", Text("Tasks that wait", "等待的任务"), "count", "area", list_series(view, _STUCK)),
    )  # fmt: skip
    panels = tuple(panel for panel in new_panels if panel is not None)
    if not any(panel.id in ("faults", "refaults") for panel in panels):
        return ()
    who = _list_major_faults(view)
    body = Panels(
        *compute_span(panels),
        panels,
        parts_label=Text("Major faults by process", "各进程的主缺页"),
        parts=tuple(who[:MAX_PROCESSES]),
    )
    subject = tuple(where.items())
    return [
        RunChart(
            "page-faults",
            "page-faults",
            _TITLE,
            subject,
            body=body,
            left_out=max(0, len(who) - MAX_PROCESSES),
        )
    ]


def _find_refault_group(view: HostView) -> TableRow | None:
    """Return the control group with most file refaults, or None; groups with a limit first, then the fullest."""
    known = {series.labels.get("cgroup") for series in view.series_of("cgroup.memory_usage_kb")}
    rows = [row for row in view.rows("cgroup_mem") if row.text("path") in known]
    return max(
        rows,
        key=lambda row: (
            read_cell(row, "limit_kb") is not None,
            read_cell(row, "refault_file_per_s") or 0.0,
            read_cell(row, "usage_pct") or 0.0,
        ),
        default=None,
    )


def _build_memory_panel(view: HostView, group: TableRow | None) -> Panel | None:
    """Return the panel of the group's memory with its limit, else of the available memory of the host."""
    label = Text("Memory", "内存")
    if group is not None and (
        series := find_series(view, "cgroup.memory_usage_kb", cgroup=group.text("path"))
    ):
        limit = read_cell(group, "limit_kb")
        levels = (PanelLevel(_LIMIT, Figure(limit, "kb", group.citation)),) if limit else ()
        used = PanelSeries("used", Text("Used by the group", "控制组已用"), series)
        return build_panel("memory", label, "kb", "area", [used], levels=levels)
    rows = (("available", Text("Available on the host", "主机可用"), "mem.available_kb"),)
    return build_panel("memory", label, "kb", "area", list_series(view, rows))


def _list_major_faults(view: HostView) -> list[PanelPart]:
    """Return the major faults of each process, the most first: from perf, else from the process counters."""
    counted = view.rows("process_faults")
    column = "major_faults_per_s" if counted else "major_faults"
    values = [
        (value, row)
        for row in counted or view.rows("processes")
        if (value := read_cell(row, column)) and value > 0
    ]
    values.sort(key=lambda value: (-value[0], value[1].text("pid")))
    return [
        PanelPart(row.text("comm"), f"pid {row.text('pid')}", Figure(value, "per_s", row.citation))
        for value, row in values
    ]


BUILDER = ChartBuilder(
    id="page-faults",
    title=_TITLE,
    summary=Text(
        "A major fault waits for a disk. If pages are read repeatedly while the memory of a group is at its limit, its"
        " working set does not fit; the tasks below wait in the meantime.",
        "主缺页要等磁盘。控制组内存顶在限额上而页面反复重新读入，说明工作集放不下；下方的任务此时在等待。",
    ),
    reads=request_view(
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
    build=_build_charts,
)  # fmt: skip
