"""The registry of metrics: everything that parsers yield and that tracks, rules and charts read.

The ID of a metric is `domain.thing_unit`. IDs are stored, so a metric can be added but never renamed. Metrics that
several collectors yield are in the modules of this folder; a metric of one collector can be in its `metrics` instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from collectors.contract import Text
from collectors.metrics import (
    application,
    cgroup,
    cpu,
    disk,
    memory,
    network,
    sockets,
    storage,
    tasks,
    tcp,
)
from collectors.metrics.row import Metric, TrackStyle
from collectors.registry import COLLECTORS

__all__ = ["GROUPS", "METRICS", "Metric", "TrackStyle"]

#: Track groups in the order of the timeline, with their titles.
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


def _collect_metrics() -> Mapping[str, Metric]:
    """Return all metrics by ID in track order, or raise ValueError for an ID that is defined twice."""
    modules = (cpu, tasks, memory, disk, network, tcp, cgroup, sockets, storage, application)
    rows = [row for module in modules for row in module.ROWS]
    rows += [row for collector in COLLECTORS.values() for row in collector.metrics]
    metrics: dict[str, Metric] = {}
    for row in sorted(rows, key=lambda row: row.track.order):
        if row.id in metrics:
            raise ValueError(f"two metrics have the id {row.id!r}")
        metrics[row.id] = row
    return MappingProxyType(metrics)


#: Every metric by ID, in track order.
METRICS: Mapping[str, Metric] = _collect_metrics()
