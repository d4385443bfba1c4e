"""Memory of control groups against their limits, with the kills for want of it."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.core.rules.measures.memory_kills import killed_by_limit
from culprit.core.rules.measures.places import inside, limited_groups
from culprit.core.rules.view import Happening, Row, View, reads
from culprit.core.visuals.bodies.figure import Figure, Label
from culprit.core.visuals.bodies.gauges import Gauge, Gauges, Tone
from culprit.core.visuals.bodies.panels import Level, Moment, Panels
from culprit.core.visuals.contract import MAX_PER_BUILDER, Builder, Visual
from culprit.core.visuals.readings import Wanted, cell, first, panel, span

MAX_GROUPS = 40
MAX_KILLS = 50
_TITLE = Text("Memory of control groups", "控制组内存")
_USED = Text("Used", "已用")
_LIMIT = Text("Limit", "限额")
_KILL = Text("Killed for want of memory", "因内存不足被终止")
#: Of a limit: what is nearly full, and what is full.
NEAR_PCT, FULL_PCT = 90.0, 99.0


def _build(view: View) -> Sequence[Visual]:
    rows = sorted(limited_groups(view), key=lambda row: (-(cell(row, "usage_pct") or 0.0), row.text("path")))
    drawn = [_overview(rows)] if rows else []
    over_time = {lane.labels.get("cgroup", "") for lane in view.of("cgroup.memory_usage_kb")}
    every = {row.text("path"): row for row in view.rows("cgroup_mem")}
    paths = sorted(over_time & every.keys(), key=lambda path: -(cell(every[path], "usage_pct") or 0.0))
    for path in paths[: MAX_PER_BUILDER - 1]:
        drawn += _group(view, every[path])
    return drawn


def _overview(rows: Sequence[Row]) -> Visual:
    gauges = tuple(_gauge(row) for row in rows[:MAX_GROUPS] if cell(row, "usage_kb") is not None)
    body = Gauges(_USED, _LIMIT, gauges)
    return Visual("group-memory", "group-memory", _TITLE, body=body, left_out=max(0, len(rows) - MAX_GROUPS))


def _gauge(row: Row) -> Gauge:
    limit = cell(row, "limit_kb")
    also: list[tuple[Label, Figure]] = []
    for label, column, unit in (
        (Text("Anonymous", "匿名"), "anon_kb", "kb"),
        (Text("File", "文件"), "file_kb", "kb"),
        (Text("Kills in the capture", "采集期间被终止"), "oom_kills", "count"),
        (Text("Kills ever", "累计被终止"), "oom_kills_ever", "count"),
        (Text("Times at the limit", "触顶次数"), "limit_hits", "count"),
    ):
        value = cell(row, column)
        if value is not None:
            also.append((label, Figure(value, unit, row.cite)))
    return Gauge(
        row.text("path"),
        row.text("path"),
        Figure(cell(row, "usage_kb") or 0.0, "kb", row.cite),
        Figure(limit, "kb", row.cite) if limit else None,
        tone=_tone(row),
        also=tuple(also),
    )


def _tone(row: Row) -> Tone:
    used = cell(row, "usage_pct") or 0.0
    if cell(row, "oom_kills"):
        return "bad"
    if used >= FULL_PCT and (cell(row, "anon_pct") or 0.0) >= NEAR_PCT:
        return "bad"
    return "warn" if used >= NEAR_PCT else "good"


def _group(view: View, row: Row) -> list[Visual]:
    path, limit = row.text("path"), cell(row, "limit_kb")
    lane = first(view, "cgroup.memory_usage_kb", cgroup=path)
    if lane is None:
        return []
    again = first(view, "cgroup.refault_file_per_s", cgroup=path)
    refault = Text("File pages read again", "重新读入的文件页")
    levels = (Level(_LIMIT, Figure(limit, "kb", row.cite)),) if limit else ()
    made = (
        panel("memory", Text("Memory", "内存"), "kb", "area", [Wanted("used", _USED, lane)], levels=levels),
        panel("refaults", refault, "pages_per_s", "line", [Wanted("refaults", refault, again)])
        if again
        else None,
    )
    panels = tuple(one for one in made if one is not None)
    if not panels:
        return []
    kills = [one for named, one in killed_by_limit(view) if inside(named, path)]
    kills += view.happened("oom_kill")
    body = Panels(*span(panels), panels, tuple(_moment(one) for one in kills[-MAX_KILLS:]), _facts(row))
    return [Visual(f"group-memory:{path}", "group-memory", _TITLE, (("cgroup", path),), body=body)]


def _moment(kill: Happening) -> Moment:
    who = f"{kill.params.get('comm', '')} {kill.params.get('pid', '')}".strip()
    return Moment(kill.t_ns, _KILL, who, True, kill.cite)


def _facts(row: Row) -> tuple[tuple[Label, Figure], ...]:
    """What the group told of itself at the end."""
    columns = (
        (Text("Anonymous memory", "匿名内存"), "anon_kb", "kb"),
        (Text("File cache", "文件缓存"), "file_kb", "kb"),
        (Text("Times at the limit", "触顶次数"), "limit_hits", "count"),
        (Text("Kills in the capture", "采集期间被终止"), "oom_kills", "count"),
        (Text("Stalled on memory, all tasks", "全部任务因内存停顿"), "psi_full_avg10_pct", "pct"),
    )
    found = ((label, cell(row, column), unit) for label, column, unit in columns)
    return tuple((label, Figure(value, unit, row.cite)) for label, value, unit in found if value is not None)


BUILDER = Builder(
    id="group-memory",
    title=_TITLE,
    says=Text(
        "A group at its limit is only ill where it is full of anonymous memory, reads file pages again or is killed;"
        " the page cache fills every limit in time.",
        "控制组顶在限额上未必有问题：只有匿名内存占满、文件页反复重读或进程被终止才是；页缓存迟早会填满任何限额。",
    ),
    reads=reads(
        metrics=("cgroup.memory_usage_kb", "cgroup.refault_file_per_s", "mem.available_kb"),
        tables=("cgroup_mem",),
        events=("oom_kill", "oom_kill_cgroup"),
    ),
    collectors=("cgroup_mem",),
    rules=(
        "F-MEM-OOM-CGROUP", "F-MEM-OOM-EARLIER", "F-MEM-ANON-SHARE", "F-MEM-REFAULT-CGROUP", "F-MEM-PSI-CGROUP",
        "F-JVM-OOM-KILLED", "F-JVM-HEAP-OVER-LIMIT", "F-MEM-OOM-HOST",
    ),
    build=_build,
)  # fmt: skip
