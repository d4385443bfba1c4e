"""Causes about settings of the kernel, real-time tasks and scheduled jobs."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

_CPU = ("cpu-exhausted", "cpu-neighbour-contention", "worker-pool-exhausted")

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="cpus-unavailable",
        title=Text("CPUs are off or isolated", "CPU 离线或被隔离"),
        what=Text(
            "The host has CPUs that are offline or kept from the scheduler (isolcpus), while work waits.",
            "主机有 CPU 离线或被隔离（isolcpus），而工作在等待其余 CPU。",
        ),
        fix=Text(
            "Bring them online (write 1 to cpuN/online), or remove isolcpus and restart the host.",
            "使其上线（向 cpuN/online 写入 1），或去掉 isolcpus 并重启。",
        ),
        risk=Text(
            "What polls on isolated CPUs is disturbed. Rollback: the old setting.",
            "会干扰在隔离 CPU 上轮询的程序。回退：恢复旧设置。",
        ),
        verify=Text("All CPUs take part and fewer threads wait.", "所有 CPU 参与调度，等待的线程减少。"),
        explains=_CPU,
        mechanisms=("runnable",),
    ),
    Cause(
        id="slow-clock-source",
        title=Text("The clock source is slow", "时钟源缓慢"),
        what=Text(
            "The kernel fell back to a clock that programs cannot read themselves. Each look at the time is a system "
            "call of about a microsecond.",
            "内核退回到程序无法直接读取的时钟，每次取时间都是约一微秒的系统调用。",
        ),
        fix=Text(
            "Read why in the kernel log (clocksource ... unstable). Write tsc or kvm-clock to current_clocksource.",
            "查看内核日志中的原因（clocksource ... unstable），向 current_clocksource 写入 tsc 或 kvm-clock。",
        ),
        risk=Text(
            "A TSC that is really unstable gives wrong times. Rollback: the old source.",
            "TSC 若确实不稳定会导致时间错误。回退：恢复旧时钟源。",
        ),
        verify=Text("The share of system CPU time falls.", "系统态 CPU 占比下降。"),
        mechanisms=("running",),
    ),
    Cause(
        id="real-time-task",
        title=Text("A real-time program starves others", "实时程序饿死其他任务"),
        what=Text(
            "A program with a real-time policy computes without a pause. All others on its CPU wait.",
            "实时策略的程序持续计算，同一 CPU 上的其他任务（包括内核线程）只能等待。",
        ),
        fix=Text(
            "Give it the normal policy (chrt -o -p 0 PID), or let it sleep. Pin it to a CPU of its own.",
            "改为普通策略（chrt -o -p 0 PID）或让其休眠，或绑定到专用 CPU。",
        ),
        risk=Text(
            "It may miss its deadlines. Rollback: chrt with the old policy.",
            "可能错过时限。回退：用 chrt 恢复。",
        ),
        verify=Text("Threads on that CPU no longer wait.", "该 CPU 上的线程不再等待。"),
        explains=("kernel-thread-busy", *_CPU),
        mechanisms=("runnable",),
    ),
    Cause(
        id="scheduled-job",
        title=Text("A scheduled job takes the host", "定时任务占用了主机"),
        what=Text(
            "A job of cron or of a systemd timer (backup, log rotation, index) takes most of the CPU or disk.",
            "cron 或 systemd 定时器的任务（备份、日志轮转、索引）占用了大部分 CPU 或磁盘。",
        ),
        fix=Text(
            "Move it to a quiet hour or another host. Give it less: nice, ionice -c3, CPUWeight=, IOWeight=.",
            "移到空闲时段或其他主机，或降低优先级：nice、ionice -c3、单元的 CPUWeight= 与 IOWeight=。",
        ),
        risk=Text(
            "It takes longer. Rollback: the old schedule and weights.", "耗时更长。回退：恢复原计划与权重。"
        ),
        verify=Text("Requests are as fast during the job as before it.", "任务运行时请求与之前一样快。"),
        explains=("disk-saturation", "swap-thrashing", *_CPU),
        mechanisms=("runnable", "disk"),
    ),
)
