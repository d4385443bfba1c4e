"""Rules about tracing that is on, CPUs that are not used, clocks, real-time tasks, and scheduled jobs."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.catalog.cpu.wait import MOSTLY_WAITS, SERVES, SOME_WAIT, THIRD
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.cpu import real_time, wait
from culprit.domain.rules.measures.disk import queues
from culprit.domain.rules.measures.platform import kernel_state as state
from culprit.domain.rules.rule import Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_BUSY = Condition(
    MetricReading("cpu.total_busy_pct", "held"),
    ">=",
    Threshold("busy", 90.0, "others have to wait for a CPU"),
)
_MOST = Threshold("share", 50.0, "more than all others together")

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-KERNEL-TRACING",
        title=Text("Tracing of the kernel is on", "内核跟踪处于开启状态"),
        summary=Text(
            "Tracing was on before this capture began: {what} {setting} ({value}).",
            "本次采集开始前内核跟踪已开启：{what} {setting}（{value}）。",
        ),
        measure=state.TRACING,
        op=">=",
        thresholds=(("warn", Threshold("count", 1.0, "one is enough")),),
        strength=Strength.DIRECT,
        use=Use("kernel", "saturation"),
        causes=("kernel-tracing-on",),
        refutes=("kernel-tracing-on",),
        caveats=Text(
            "A few events that are rare cost nothing. Tracers of functions always do.",
            "少量罕见事件没有开销，函数跟踪器则始终有开销。",
        ),
        source="current_tracer, set_event and tracing_on of tracefs, at the start of the capture",
    ),
    Rule(
        id="F-CPU-UNUSED",
        title=Text("CPUs are off or isolated while work waits", "有工作在等待，而部分 CPU 离线或隔离"),
        summary=Text(
            "{value} % of {present} CPUs do not take part ({off} off, {isolated} isolated), and work waits.",
            "{present} 个 CPU 中有 {value}% 未参与（{off} 个离线，{isolated} 个隔离），而工作在等待其余 CPU。",
        ),
        measure=state.UNUSED_CPUS,
        op=">",
        thresholds=(("warn", Threshold("any", 0.0, "each CPU that is missing is missing in the queue")),),
        also=(
            Condition(
                MetricReading("sched.runq_per_cpu", "held"),
                ">",
                Threshold("waiting", 1.0, "more threads are ready than CPUs are online"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        related=(MetricReading("cpu.total_busy_pct"),),
        causes=("cpus-unavailable",),
        refutes=("cpus-unavailable",),
        caveats=Text(
            "Isolated CPUs may run a program that polls, as intended.", "隔离的 CPU 可能按设计运行轮询程序。"
        ),
        source="present, online and isolated of /sys/devices/system/cpu",
    ),
    Rule(
        id="F-CLOCK-SLOW-SOURCE",
        title=Text("Reading the clock is a system call", "读取时钟需要系统调用"),
        summary=Text(
            "The clock source is {current} (available: {available}); the kernel takes most of the CPU time ({value}).",
            "时钟源为 {current}（可用：{available}），且内核占用大部分 CPU 时间（{value}）。",
        ),
        measure=state.SLOW_CLOCK,
        op=">=",
        thresholds=(("warn", Threshold("count", 1.0, "this source has no mode for the vDSO")),),
        also=(
            Condition(
                MetricReading("cpu.sys_share_of_busy_pct", "held"),
                ">",
                Threshold("system", 50.0, "more time in the kernel than in programs"),
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("kernel", "saturation"),
        related=(MetricReading("cpu.total_busy_pct"),),
        causes=("slow-clock-source",),
        refutes=("slow-clock-source",),
        source="current_clocksource; acpi_pm, hpet and jiffies have no vDSO mode (drivers/clocksource)",
    ),
    Rule(
        id="F-CPU-REAL-TIME",
        title=Text("A real-time program takes a whole CPU", "实时程序占满一个 CPU"),
        summary=Text(
            "{comm} ({pid}) runs as {policy} on CPU {cpu} for {value} % of the time: nothing else runs there.",
            "{comm}（{pid}）以 {policy} 策略在 CPU {cpu} 上运行 {value}% 的时间，其他任务无法在此运行。",
        ),
        measure=real_time.REAL_TIME,
        op=">=",
        thresholds=(
            ("warn", Threshold("cpu", 90.0, "sched_rt_runtime_us: the kernel stops it at 95 % of a second")),
        ),
        strength=Strength.CONTEXT,
        use=Use("cpu", "saturation"),
        related=(MetricReading("sched.runq_per_cpu"),),
        suspects=("real-time-task",),
        refutes=("real-time-task",),
        caveats=Text(
            "On a CPU of its own it harms none, as intended.", "若独占专用 CPU，则按设计不影响其他任务。"
        ),
        source="policy and CPU time of /proc/PID/stat; sched(7)",
    ),
    Rule(
        id="F-CPU-REAL-TIME-STARVES",
        title=Text("Threads wait for a CPU that a real-time program uses", "实时程序占用 CPU，其他线程等待"),
        summary=Text(
            "Threads of {name} wait while real-time programs, mainly {by} ({policy}), use {value} % of the {cpus} CPUs "
            "that they may use.",
            "{name} 的线程在等待，而以 {by}（{policy}）为主的实时程序占用其可用 {cpus} 个 CPU 的 {value}%。",
        ),
        measure=real_time.REAL_TIME_SHARE,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", THIRD, "the largest of three users of a full CPU has a third")),
        ),
        also=(MOSTLY_WAITS, SOME_WAIT, SERVES),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        related=(wait.DELAY, MetricReading("sched.runq_per_cpu")),
        suspects=("real-time-task",),
        causes=("real-time-task",),
        refutes=("real-time-task",),
        caveats=Text("Processes count by the CPU that they ran on last.", "进程按其最近所在的 CPU 计入。"),
        source="schedstat of the group; policy and CPU time of /proc/PID/stat; sched(7): it runs before all others",
    ),
    Rule(
        id="F-JOB-CPU",
        title=Text("A scheduled job takes most of the CPU time", "定时任务占用大部分 CPU 时间"),
        summary=Text(
            "{job} of {scheduler} ({comm}, {pid}; {line}) takes {value} % of the CPU time of all programs.",
            "{scheduler} 的 {job}（{comm}，{pid}；{line}）占全部程序 CPU 时间的 {value}%。",
        ),
        measure=state.JOB_CPU,
        op=">=",
        thresholds=(("warn", _MOST),),
        also=(_BUSY,),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        related=(MetricReading("sched.runq_per_cpu"),),
        causes=("scheduled-job",),
        refutes=("scheduled-job",),
        caveats=Text(
            "A job with a low priority (nice, idle) gives way to services.",
            "低优先级（nice、idle）的任务会让位于服务。",
        ),
        source="/proc/PID/stat: parents, and CPU time; systemctl list-timers",
    ),
    Rule(
        id="F-JOB-IO",
        title=Text("A scheduled job does most of the disk I/O", "定时任务占用大部分磁盘 I/O"),
        summary=Text(
            "{job} of {scheduler} ({comm}, {pid}; {line}) reads and writes {value} % of the bytes of all programs.",
            "{scheduler} 的 {job}（{comm}，{pid}；{line}）占全部程序读写字节的 {value}%。",
        ),
        measure=state.JOB_IO,
        op=">=",
        thresholds=(("warn", _MOST),),
        also=(
            Condition(
                queues.BUSIEST, ">=", Threshold("busy", 90.0, "the disk has hardly any time for others")
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("disk", "saturation"),
        causes=("scheduled-job",),
        source="/proc/PID/io: read_bytes and write_bytes; systemctl list-timers",
    ),
)
