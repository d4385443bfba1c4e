"""Chart of the memory of control groups against their limits, with OOM kills."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.domain.charts.bodies.figure import Figure, Label
from culprit.domain.charts.bodies.gauges import Gauge, Gauges, Tone
from culprit.domain.charts.bodies.panels import PanelLevel, PanelMarker, Panels
from culprit.domain.charts.chart import MAX_PER_BUILDER, ChartBuilder, RunChart
from culprit.domain.charts.panel_series import PanelSeries, build_panel, compute_span, find_series, read_cell
from culprit.domain.rules.measures.memory.kills import killed_by_limit
from culprit.domain.rules.measures.places import is_inside_group
from culprit.domain.rules.measures.service_time.reach import limited_groups
from culprit.domain.rules.view import HostEvent, HostView, TableRow, request_view

MAX_GROUPS = 40
MAX_KILLS = 50
_TITLE = Text("Memory of control groups", "控制组内存")
_USED = Text("Used", "已用")
_LIMIT = Text("Limit", "限额")
_KILL = Text("Killed for want of memory", "因内存不足被终止")
#: Usage in percent of the limit: nearly full, and full.
NEAR_PCT, FULL_PCT = 90.0, 99.0


def _build_charts(view: HostView) -> Sequence[RunChart]:
    rows = sorted(
        limited_groups(view), key=lambda row: (-(read_cell(row, "usage_pct") or 0.0), row.text("path"))
    )
    rendered = [_build_overview(rows)] if rows else []
    measured = {series.labels.get("cgroup", "") for series in view.series_of("cgroup.memory_usage_kb")}
    groups = {row.text("path"): row for row in view.rows("cgroup_mem")}
    paths = sorted(measured & groups.keys(), key=lambda path: -(read_cell(groups[path], "usage_pct") or 0.0))
    for path in paths[: MAX_PER_BUILDER - 1]:
        rendered += _build_group_charts(view, groups[path])
    return rendered


def _build_overview(rows: Sequence[TableRow]) -> RunChart:
    gauges = tuple(_build_gauge(row) for row in rows[:MAX_GROUPS] if read_cell(row, "usage_kb") is not None)
    body = Gauges(_USED, _LIMIT, gauges)
    return RunChart(
        "group-memory", "group-memory", _TITLE, body=body, left_out=max(0, len(rows) - MAX_GROUPS)
    )


def _build_gauge(row: TableRow) -> Gauge:
    limit = read_cell(row, "limit_kb")
    also: list[tuple[Label, Figure]] = []
    for label, column, unit in (
        (Text("Anonymous", "匿名"), "anon_kb", "kb"),
        (Text("File", "文件"), "file_kb", "kb"),
        (Text("Kills in the capture", "采集期间被终止"), "oom_kills", "count"),
        (Text("Kills ever", "累计被终止"), "oom_kills_ever", "count"),
        (Text("Times at the limit", "触顶次数"), "limit_hits", "count"),
    ):
        value = read_cell(row, column)
        if value is not None:
            also.append((label, Figure(value, unit, row.citation)))
    return Gauge(
        row.text("path"),
        row.text("path"),
        Figure(read_cell(row, "usage_kb") or 0.0, "kb", row.citation),
        Figure(limit, "kb", row.citation) if limit else None,
        tone=_rate_usage(row),
        also=tuple(also),
    )


def _rate_usage(row: TableRow) -> Tone:
    used = read_cell(row, "usage_pct") or 0.0
    if read_cell(row, "oom_kills"):
        return "bad"
    if used >= FULL_PCT and (read_cell(row, "anon_pct") or 0.0) >= NEAR_PCT:
        return "bad"
    return "warn" if used >= NEAR_PCT else "good"


def _build_group_charts(view: HostView, row: TableRow) -> list[RunChart]:
    path, limit = row.text("path"), read_cell(row, "limit_kb")
    series = find_series(view, "cgroup.memory_usage_kb", cgroup=path)
    if series is None:
        return []
    again = find_series(view, "cgroup.refault_file_per_s", cgroup=path)
    refault = Text("File pages read again", "重新读入的文件页")
    levels = (PanelLevel(_LIMIT, Figure(limit, "kb", row.citation)),) if limit else ()
    new_panels = (
        build_panel(
            "memory",
            Text("Memory", "内存"),
            "kb",
            "area",
            [PanelSeries("used", _USED, series)],
            levels=levels,
        ),
        build_panel("refaults", refault, "pages_per_s", "line", [PanelSeries("refaults", refault, again)])
        if again
        else None,
    )
    panels = tuple(panel for panel in new_panels if panel is not None)
    if not panels:
        return []
    kills = [item for named, item in killed_by_limit(view) if is_inside_group(named, path)]
    kills += view.events_of("oom_kill")
    body = Panels(
        *compute_span(panels),
        panels,
        tuple(_build_marker(kill) for kill in kills[-MAX_KILLS:]),
        _list_counters(row),
    )
    return [RunChart(f"group-memory:{path}", "group-memory", _TITLE, (("cgroup", path),), body=body)]


def _build_marker(kill: HostEvent) -> PanelMarker:
    who = f"{kill.params.get('comm', '')} {kill.params.get('pid', '')}".strip()
    return PanelMarker(kill.t_ns, _KILL, who, True, kill.citation)


def _list_counters(row: TableRow) -> tuple[tuple[Label, Figure], ...]:
    """Return the memory counters of the group at the end of the capture."""
    columns = (
        (Text("Anonymous memory", "匿名内存"), "anon_kb", "kb"),
        (Text("File cache", "文件缓存"), "file_kb", "kb"),
        (Text("Times at the limit", "触顶次数"), "limit_hits", "count"),
        (Text("Kills in the capture", "采集期间被终止"), "oom_kills", "count"),
        (Text("Stalled on memory, all tasks", "全部任务因内存停顿"), "psi_full_avg10_pct", "pct"),
    )
    labels = ((label, read_cell(row, column), unit) for label, column, unit in columns)
    return tuple(
        (label, Figure(value, unit, row.citation)) for label, value, unit in labels if value is not None
    )


BUILDER = ChartBuilder(
    id="group-memory",
    title=_TITLE,
    summary=Text(
        "A group at its limit is only ill where it is full of anonymous memory, reads file pages again or is killed;"
        " the page cache fills every limit in time.",
        "控制组顶在限额上未必有问题：只有匿名内存占满、文件页反复重读或进程被终止才是；页缓存迟早会填满任何限额。",
    ),
    reads=request_view(
        metrics=("cgroup.memory_usage_kb", "cgroup.refault_file_per_s", "mem.available_kb"),
        tables=("cgroup_mem",),
        events=("oom_kill", "oom_kill_cgroup"),
    ),
    collectors=("cgroup_mem",),
    rules=(
        "F-MEM-OOM-CGROUP", "F-MEM-OOM-EARLIER", "F-MEM-ANON-SHARE", "F-MEM-REFAULT-CGROUP", "F-MEM-PSI-CGROUP",
        "F-JVM-OOM-KILLED", "F-JVM-HEAP-OVER-LIMIT", "F-MEM-OOM-HOST",
    ),
    build=_build_charts,
)  # fmt: skip
