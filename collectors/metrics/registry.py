"""The one catalogue of metrics: what every parser may yield, and what every lane, rule and answer reads from.

A metric is named `domain.thing_unit`; the unit is in the name as well as in its row. Ids are stored, so a
row may be added but never renamed. Rows live by domain in `collectors.metric_rows`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from collectors.contract import Text
from collectors.metric_rows import (
    application,
    cgroup,
    cpu,
    disk,
    memory,
    network,
    platform,
    sockets,
    storage,
    tasks,
    tcp,
)
from collectors.metric_rows.row import Lane, Metric

__all__ = ["CATALOGUE", "GROUPS", "Lane", "Metric", "metric"]

#: Lane groups in the order of the timeline, with their titles.
GROUPS: Mapping[str, Text] = MappingProxyType(
    {
        "cpu": Text("CPU", "CPU"),
        "tasks": Text("Run queue and tasks", "运行队列与任务"),
        "softirq": Text("Softirqs", "软中断"),
        "memory": Text("Memory", "内存"),
        "psi": Text("Pressure", "压力（PSI）"),
        "disk": Text("Disks", "磁盘"),
        "network": Text("Network", "网络"),
        "tcp": Text("TCP and UDP", "TCP 与 UDP"),
        "numa": Text("NUMA", "NUMA"),
        "cgroup": Text("Control groups", "控制组"),
        "app": Text("Applications", "应用"),
        "platform": Text("Hardware and clock", "硬件与时钟"),
    }
)


def _collect() -> Mapping[str, Metric]:
    """All rows by id; two rows with one id are our bug."""
    modules = (cpu, tasks, memory, disk, network, tcp, cgroup, sockets, storage, application, platform)
    rows = [row for module in modules for row in module.ROWS]
    catalogue = {row.id: row for row in rows}
    if len(catalogue) != len(rows):
        raise ValueError("two metrics with one id")
    return MappingProxyType(dict(sorted(catalogue.items(), key=lambda pair: pair[1].lane.order)))


#: Every metric by id, in lane order.
CATALOGUE: Mapping[str, Metric] = _collect()


def metric(metric_id: str) -> Metric:
    """The metric of that id; KeyError for a name that is not in the catalogue."""
    return CATALOGUE[metric_id]
