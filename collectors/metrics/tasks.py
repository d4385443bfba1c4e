"""Load, run queue, context switches, task states, and pressure."""

# ruff: noqa: PLR0917 - a table of rows reads better by position

from __future__ import annotations

from collectors.contract import Text
from collectors.metrics.row import Metric, Nature, TrackKind, TrackStyle, Unit


def _task_metric(
    metric: str,
    unit: Unit,
    nature: Nature,
    order: int,
    title: Text,
    meaning: Text,
    kind: TrackKind = "line",
) -> Metric:
    return Metric(metric, unit, nature, (), None, title, meaning, TrackStyle("tasks", order, kind))


_TASKS = (
    _task_metric(
        "load.avg1",
        "count",
        "gauge",
        200,
        Text("Load, 1 min", "1 分钟负载"),
        Text(
            "Exponential mean of tasks that are runnable or in uninterruptible sleep.",
            "可运行与不可中断睡眠任务数的指数平均。",
        ),
    ),
    _task_metric(
        "load.avg5",
        "count",
        "gauge",
        201,
        Text("Load, 5 min", "5 分钟负载"),
        Text("The same over 5 minutes.", "5 分钟的同一平均。"),
    ),
    _task_metric(
        "load.avg15",
        "count",
        "gauge",
        202,
        Text("Load, 15 min", "15 分钟负载"),
        Text("The same over 15 minutes.", "15 分钟的同一平均。"),
    ),
    _task_metric(
        "load.avg1_per_cpu",
        "count",
        "gauge",
        203,
        Text("Load per CPU", "每 CPU 负载"),
        Text("1-minute load divided by the CPUs that are online.", "1 分钟负载除以在线 CPU 数。"),
    ),
    _task_metric(
        "sched.runq",
        "count",
        "gauge",
        204,
        Text("Runnable tasks", "可运行任务数"),
        Text(
            "Tasks running or waiting for a CPU, as vmstat's r.",
            "正在运行或等待 CPU 的任务数（vmstat 的 r）。",
        ),
        kind="step",
    ),
    _task_metric(
        "sched.runq_per_cpu",
        "count",
        "gauge",
        205,
        Text("Runnable tasks per CPU", "每 CPU 可运行任务数"),
        Text(
            "Running or waiting tasks divided by online CPUs. Above 1, tasks wait.",
            "可运行任务数除以在线 CPU 数，大于 1 表示有任务在等待。",
        ),
    ),
    _task_metric(
        "sched.blocked",
        "count",
        "gauge",
        206,
        Text("Blocked tasks", "阻塞任务数"),
        Text(
            "Tasks waiting for I/O in uninterruptible sleep, as vmstat's b.",
            "等待 I/O 的不可中断任务数（vmstat 的 b）。",
        ),
        kind="step",
    ),
    _task_metric(
        "sched.switches_per_s",
        "per_s",
        "counter",
        207,
        Text("Context switches", "上下文切换"),
        Text("Context switches per second over all CPUs.", "全部 CPU 每秒上下文切换次数。"),
    ),
    _task_metric(
        "sched.forks_per_s",
        "per_s",
        "counter",
        208,
        Text("New tasks", "新建任务"),
        Text("Processes and threads created per second.", "每秒新建的进程与线程数。"),
    ),
    _task_metric(
        "proc.tasks",
        "count",
        "gauge",
        209,
        Text("Tasks", "任务总数"),
        Text("All tasks, threads counted singly.", "任务总数，按线程计。"),
        kind="step",
    ),
    _task_metric(
        "proc.d_state_count",
        "count",
        "gauge",
        210,
        Text("Processes in D state", "D 状态进程数"),
        Text("Processes whose main thread is in uninterruptible sleep.", "主线程处于不可中断睡眠的进程数。"),
        kind="step",
    ),
    _task_metric(
        "proc.r_state_count",
        "count",
        "gauge",
        211,
        Text("Processes in R state", "R 状态进程数"),
        Text("Processes whose main thread runs or waits for a CPU.", "主线程正在运行或等待 CPU 的进程数。"),
        kind="step",
    ),
)


def _psi_metric(
    metric: str, nature: Nature, order: int, title: Text, meaning: Text, kind: TrackKind
) -> Metric:
    return Metric(metric, "pct", nature, ("resource",), None, title, meaning, TrackStyle("psi", order, kind))


_PSI = (
    _psi_metric(
        "psi.some_pct",
        "counter",
        500,
        Text("Pressure, some", "压力：部分受阻"),
        Text(
            "Share of the interval in which at least one task waited for the resource.",
            "至少一个任务等待该资源的时间占比。",
        ),
        "area",
    ),
    _psi_metric(
        "psi.full_pct",
        "counter",
        501,
        Text("Pressure, full", "压力：全部受阻"),
        Text(
            "Share of the interval in which all non-idle tasks waited for the resource at once.",
            "所有非空闲任务同时等待该资源的时间占比。",
        ),
        "area",
    ),
    _psi_metric(
        "psi.some_avg10_pct",
        "gauge",
        502,
        Text("Pressure, some, 10 s mean", "压力：部分受阻（10 秒平均）"),
        Text("The kernel's own mean over 10 seconds.", "内核给出的 10 秒平均。"),
        "line",
    ),
    _psi_metric(
        "psi.full_avg10_pct",
        "gauge",
        503,
        Text("Pressure, full, 10 s mean", "压力：全部受阻（10 秒平均）"),
        Text("The kernel's own mean over 10 seconds.", "内核给出的 10 秒平均。"),
        "line",
    ),
)

ROWS: tuple[Metric, ...] = _TASKS + _PSI
