"""CPU time by mode, interrupts and softirqs."""

# ruff: noqa: PLR0917 - a table of rows reads better by position

from __future__ import annotations

from collectors.contract import Text
from collectors.metrics.row import Metric, Nature, TrackKind, TrackStyle, Unit


def _per_cpu_metric(metric: str, order: int, title: Text, meaning: Text) -> Metric:
    return Metric(metric, "pct", "counter", (), "cpu", title, meaning, TrackStyle("cpu", order, "heatmap"))


def _host_metric(
    metric: str, order: int, title: Text, meaning: Text, unit: Unit = "pct", kind: TrackKind = "line"
) -> Metric:
    return Metric(metric, unit, "counter", (), None, title, meaning, TrackStyle("cpu", order, kind))


_MODES = (
    _per_cpu_metric(
        "cpu.busy_pct",
        120,
        Text("Busy, per CPU", "各 CPU 繁忙率"),
        Text(
            "Share of the interval in which the CPU was neither idle nor waiting for I/O.",
            "该 CPU 既不空闲也不等待 I/O 的时间占比。",
        ),
    ),
    _per_cpu_metric(
        "cpu.usr_pct",
        121,
        Text("User, per CPU", "各 CPU 用户态"),
        Text(
            "Time in user space without nice and without guests.",
            "用户态时间占比，不含 nice 与虚拟机客户。",
        ),
    ),
    _per_cpu_metric(
        "cpu.nice_pct",
        122,
        Text("Nice, per CPU", "各 CPU 低优先级用户态"),
        Text("Time in user space of niced tasks, without guests.", "低优先级任务的用户态时间占比。"),
    ),
    _per_cpu_metric(
        "cpu.sys_pct",
        123,
        Text("System, per CPU", "各 CPU 内核态"),
        Text("Time in the kernel, without interrupts.", "内核态时间占比，不含中断。"),
    ),
    _per_cpu_metric(
        "cpu.soft_pct",
        124,
        Text("Softirq, per CPU", "各 CPU 软中断"),
        Text(
            "Time in softirqs, whether at the exit of an interrupt or in ksoftirqd.",
            "处理软中断的时间占比，包括中断退出时与 ksoftirqd 中。",
        ),
    ),
    _per_cpu_metric(
        "cpu.irq_pct",
        125,
        Text("Hard interrupts, per CPU", "各 CPU 硬中断"),
        Text("Time in hardware interrupt handlers.", "硬件中断处理时间占比。"),
    ),
    _per_cpu_metric(
        "cpu.iowait_pct",
        126,
        Text("I/O wait, per CPU", "各 CPU I/O 等待"),
        Text(
            "Idle time while a task that last ran here waits for I/O: idleness by another name.",
            "空闲且有任务等待 I/O 的时间占比，本质上仍是空闲。",
        ),
    ),
    _per_cpu_metric(
        "cpu.idle_pct",
        127,
        Text("Idle, per CPU", "各 CPU 空闲"),
        Text("Time with no task to run and none waiting for I/O.", "无任务可运行且无 I/O 等待的时间占比。"),
    ),
    _per_cpu_metric(
        "cpu.steal_pct",
        128,
        Text("Steal, per CPU", "各 CPU 被窃取"),
        Text(
            "Time in which the hypervisor ran another guest while this CPU had work.",
            "本 CPU 有任务而宿主机在运行其他虚拟机的时间占比。",
        ),
    ),
    _per_cpu_metric(
        "cpu.guest_pct",
        129,
        Text("Guests, per CPU", "各 CPU 客户机"),
        Text("Time spent running virtual machines on this host.", "在本机上运行虚拟机的时间占比。"),
    ),
)

_HOST = (
    _host_metric(
        "cpu.total_busy_pct",
        100,
        Text("CPU busy", "CPU 繁忙率"),
        Text(
            "Share of all online CPUs' time that was neither idle nor I/O wait.",
            "全部在线 CPU 中既非空闲也非 I/O 等待的时间占比。",
        ),
        kind="area",
    ),
    _host_metric(
        "cpu.total_usr_pct",
        101,
        Text("User", "用户态"),
        Text(
            "Time in user space over all CPUs, with nice, as vmstat's us.",
            "全部 CPU 用户态时间占比（vmstat 的 us）。",
        ),
    ),
    _host_metric(
        "cpu.total_sys_pct",
        102,
        Text("System", "内核态"),
        Text(
            "Time in the kernel over all CPUs, with interrupts and softirqs, as vmstat's sy.",
            "全部 CPU 内核态时间占比，含中断与软中断（vmstat 的 sy）。",
        ),
    ),
    _host_metric(
        "cpu.total_soft_pct",
        103,
        Text("Softirq", "软中断"),
        Text("Time in softirqs over all CPUs.", "全部 CPU 的软中断时间占比。"),
    ),
    _host_metric(
        "cpu.total_iowait_pct",
        104,
        Text("I/O wait", "I/O 等待"),
        Text(
            "Idle time with tasks waiting for I/O, over all CPUs: a hint, never a proof.",
            "全部 CPU 空闲且有 I/O 等待的时间占比，仅作提示。",
        ),
    ),
    _host_metric(
        "cpu.total_idle_pct",
        105,
        Text("Idle", "空闲"),
        Text("Idle time over all CPUs, as vmstat's id.", "全部 CPU 空闲时间占比（vmstat 的 id）。"),
    ),
    _host_metric(
        "cpu.total_steal_pct",
        106,
        Text("Steal", "被窃取"),
        Text(
            "Time taken by the hypervisor over all CPUs, as vmstat's st.",
            "被宿主机窃取的时间占比（vmstat 的 st）。",
        ),
    ),
    _host_metric(
        "cpu.total_guest_pct",
        107,
        Text("Guests", "客户机"),
        Text(
            "Time running virtual machines, as vmstat's gu (procps 4 and later).",
            "运行虚拟机的时间占比（procps 4 起 vmstat 的 gu）。",
        ),
    ),
    _host_metric(
        "cpu.sys_share_of_busy_pct",
        108,
        Text("Kernel share of busy time", "繁忙时间中的内核占比"),
        Text(
            "Kernel time, with interrupts, as a share of busy time over all CPUs.",
            "内核时间（含中断）占全部繁忙时间的比例。",
        ),
    ),
    _host_metric(
        "cpu.interrupts_per_s",
        110,
        Text("Interrupts", "中断次数"),
        Text(
            "Interrupts served per second, with the clock, as vmstat's in.",
            "每秒中断次数，含时钟中断（vmstat 的 in）。",
        ),
        unit="per_s",
    ),
)


def _softirq_metric(
    metric: str, unit: Unit, order: int, axis: str | None, kind: TrackKind, title: Text, meaning: Text
) -> Metric:
    nature: Nature = "counter"
    return Metric(metric, unit, nature, ("vector",), axis, title, meaning, TrackStyle("softirq", order, kind))


_SOFTIRQ = (
    _softirq_metric(
        "softirq.rate_per_s",
        "per_s",
        300,
        "cpu",
        "heatmap",
        Text("Softirqs, per CPU", "各 CPU 软中断次数"),
        Text(
            "Softirqs of one vector (NET_RX, TIMER, ...) run per second on each CPU.",
            "各 CPU 每秒执行的某类软中断（NET_RX、TIMER 等）次数。",
        ),
    ),
    _softirq_metric(
        "softirq.total_per_s",
        "per_s",
        301,
        None,
        "line",
        Text("Softirqs by vector", "各类软中断次数"),
        Text("Softirqs of one vector run per second over all CPUs.", "全部 CPU 每秒执行的某类软中断次数。"),
    ),
    _softirq_metric(
        "softirq.vector_share_pct",
        "pct",
        302,
        None,
        "line",
        Text("Share of softirqs by vector", "各类软中断占比"),
        Text("This vector's share of all softirqs in the interval.", "该类软中断占全部软中断次数的比例。"),
    ),
    _softirq_metric(
        "softirq.imbalance_max_over_mean",
        "count",
        303,
        None,
        "line",
        Text("Softirq imbalance", "软中断不均衡度"),
        Text(
            "Rate on the busiest CPU over the mean of all online CPUs; 1 is even.",
            "最忙 CPU 的次数与各 CPU 平均值之比，1 表示均衡。",
        ),
    ),
)

ROWS: tuple[Metric, ...] = _HOST + _MODES + _SOFTIRQ
