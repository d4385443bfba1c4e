"""Disks and files in detail."""

from __future__ import annotations

from collectors.contract import Text
from collectors.metrics.row import Metric, TrackStyle

ROWS: tuple[Metric, ...] = (
    Metric(
        "disk.inflight",
        "count",
        "gauge",
        ("dev",),
        None,
        Text("Requests in flight", "在途请求"),
        Text(
            "Requests that the device had taken and not yet answered at that moment.",
            "该时刻设备已接收但尚未完成的请求数。",
        ),
        TrackStyle("disk", 630, "step"),
    ),
    Metric(
        "sched.migrations_per_s",
        "per_s",
        "counter",
        (),
        None,
        Text("Migrations", "任务迁移"),
        Text("Tasks moved from one CPU to another per second.", "每秒在 CPU 之间迁移的任务数。"),
        TrackStyle("tasks", 230, "line"),
    ),
    Metric(
        "syscall.calls_per_s",
        "per_s",
        "counter",
        (),
        None,
        Text("System calls", "系统调用"),
        Text(
            "System calls entered per second on all CPUs. Shows whether tracing them is affordable.",
            "全部 CPU 每秒进入的系统调用数；据此判断能否承受对其跟踪的开销。",
        ),
        TrackStyle("tasks", 231, "line"),
    ),
    Metric(
        "mem.faults_per_s",
        "per_s",
        "counter",
        (),
        None,
        Text("Page faults, counted by perf", "缺页（perf 计数）"),
        Text("Page faults of all kinds per second, as perf counts them.", "perf 统计的每秒各类缺页次数。"),
        TrackStyle("memory", 460, "line"),
    ),
)
