"""Control groups."""

# ruff: noqa: PLR0917 - a table of rows reads better by position

from __future__ import annotations

from collectors.contract import Text
from collectors.metrics.row import Metric, Nature, TrackStyle, Unit


def _cgroup_metric(metric: str, unit: Unit, nature: Nature, order: int, title: Text, meaning: Text) -> Metric:
    return Metric(
        metric, unit, nature, ("cgroup",), None, title, meaning, TrackStyle("cgroup", order, "line")
    )


ROWS: tuple[Metric, ...] = (
    _cgroup_metric(
        "cgroup.cpu_usage_pct",
        "pct",
        "counter",
        1000,
        Text("CPU used by the group", "控制组 CPU 使用"),
        Text(
            "Percent of one CPU that the group and those below it used.",
            "控制组及其下级使用的 CPU，占一个 CPU 的百分比。",
        ),
    ),
    _cgroup_metric(
        "cgroup.cpu_throttled_pct",
        "pct",
        "counter",
        1001,
        Text("Throttled periods", "被限流的周期"),
        Text(
            "Share of the quota's periods in which the group had to stop. High with few and with many threads alike.",
            "控制组在配额周期中被迫停止的占比。线程多少都可能很高。",
        ),
    ),
    _cgroup_metric(
        "cgroup.memory_usage_kb",
        "kb",
        "gauge",
        1002,
        Text("Memory of the group", "控制组内存"),
        Text("Memory charged to the group, page cache included.", "计入控制组的内存，含页缓存。"),
    ),
    _cgroup_metric(
        "cgroup.refault_file_per_s",
        "pages_per_s",
        "counter",
        1003,
        Text("Refaults of the group", "控制组重新缺页"),
        Text(
            "Pages of files read again soon after they were reclaimed: the group's cache does not fit.",
            "刚被回收又重新读入的文件页：控制组的缓存放不下。",
        ),
    ),
)
