"""Causes that were left behind or set: stopped, traced and frozen processes, tracing, CPUs, clocks, jobs."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

_CPU = ("cpu-exhausted", "cpu-neighbour-contention", "worker-pool-exhausted")
_STUCK = ("worker-pool-exhausted", "listen-queue-overflow", "slow-dependency")

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="process-stopped",
        title=Text("A process is stopped by a signal", "进程被信号停止"),
        what=Text(
            "SIGSTOP or SIGTSTP stopped the process. It keeps its sockets and locks, and answers nothing.",
            "进程被 SIGSTOP 或 SIGTSTP 停止，仍持有套接字与锁，但不应答。",
        ),
        fix=Text(
            "Continue it: kill -CONT PID. Find who stopped it.", "用 kill -CONT PID 恢复，并查明由谁停止。"
        ),
        risk=Text("None. Rollback: kill -STOP PID.", "无。回退：kill -STOP PID。"),
        verify=Text("Its state is S or R, and it answers.", "其状态为 S 或 R，并能应答。"),
        explains=_STUCK,
        mechanisms=("tracer",),
        proven_by=("stopped-store",),
    ),
    Cause(
        id="cgroup-frozen",
        title=Text("A control group is frozen", "控制组被冻结"),
        what=Text(
            "docker pause, systemctl freeze or a checkpoint froze the group. Its processes answer nothing.",
            "docker pause、systemctl freeze 或检查点冻结了控制组，其中进程不应答。",
        ),
        fix=Text(
            "Thaw it: docker unpause, systemctl thaw, or write 0 to cgroup.freeze (THAWED to freezer.state).",
            "解冻：docker unpause、systemctl thaw，或向 cgroup.freeze 写 0（freezer.state 写 THAWED）。",
        ),
        risk=Text(
            "Clients may have given up. Rollback: freeze it again.", "客户端可能已放弃。回退：重新冻结。"
        ),
        verify=Text("The processes of the group run and answer.", "组内进程运行并应答。"),
        explains=_STUCK,
        mechanisms=(
            "tracer",
            "unknown",
        ),
        proven_by=("frozen-store",),
    ),
    Cause(
        id="tracer-attached",
        title=Text("A tracer was left attached", "遗留了跟踪器"),
        what=Text(
            "strace, gdb or an agent traces the process. Each system call or signal stops it twice.",
            "strace、gdb 或某代理正在跟踪该进程，每次系统调用或信号都会停顿两次。",
        ),
        fix=Text("End the tracer; the process goes on.", "结束跟踪器，进程会继续运行。"),
        risk=Text(
            "A debugger that is killed can leave breakpoints behind. Detach it instead.",
            "被强制结束的调试器可能留下断点，请改用 detach。",
        ),
        verify=Text("TracerPid is 0.", "TracerPid 为 0。"),
        explains=("cpu-exhausted", *_STUCK),
        mechanisms=(
            "tracer",
            "running",
        ),
        proven_by=("tracer-attached",),
    ),
    Cause(
        id="kernel-tracing-on",
        title=Text("Tracing of the kernel was left on", "内核跟踪未关闭"),
        what=Text(
            "A tracer or events of ftrace are on. Each traced function or event costs CPU time on all CPUs.",
            "ftrace 的跟踪器或事件处于开启状态，每个被跟踪的函数或事件都消耗所有 CPU 的时间。",
        ),
        fix=Text(
            "Ask who traces. Then write nop to current_tracer and nothing to set_event.",
            "确认由谁开启，然后向 current_tracer 写入 nop，并清空 set_event。",
        ),
        risk=Text(
            "The trace of others ends. Rollback: turn it on again.", "他人的跟踪会结束。回退：重新开启。"
        ),
        verify=Text(
            "current_tracer is nop and set_event is empty.", "current_tracer 为 nop，set_event 为空。"
        ),
        explains=("cpu-exhausted",),
        mechanisms=("running",),
    ),
    Cause(
        id="filesystem-read-only",
        title=Text("The kernel made a file system read-only", "内核将文件系统改为只读"),
        what=Text(
            "After an I/O error or damage the file system allows no more writes. Each write fails with EROFS or EIO.",
            "发生 I/O 错误或损坏后，文件系统不再允许写入，每次写入都以 EROFS 或 EIO 失败。",
        ),
        fix=Text(
            "Read the kernel log for the error. Check the disk, then the file system (fsck on the unmounted device).",
            "查看内核日志中的错误；先检查磁盘，再对已卸载的设备运行 fsck。",
        ),
        risk=Text(
            "Remounting it for writing without a check can destroy data. Take a copy of the device first.",
            "未经检查就重新以可写方式挂载可能毁坏数据，请先备份设备。",
        ),
        verify=Text("It is writable, and the log shows no new error.", "可写，且日志无新错误。"),
        explains=_STUCK,
        proven_by=("read-only-uploads",),
    ),
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
