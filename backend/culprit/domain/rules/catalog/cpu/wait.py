"""Rules about waiting for a CPU: too many threads, CPU limits, neighbors, kernel threads."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import requests
from culprit.domain.rules.measures.cpu import wait
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.rule import AnyCondition, Condition, Guard, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

#: Tasks of a CPU that the scheduler serves within its latency target (sched_nr_latency in kernel/sched/fair.c, and the
#: 24 ms of its target over slices of 3 ms): beyond, each further thread makes every thread wait longer.
CROWD = 8.0
#: What gains less than a tenth is not why something is slow (Amdahl).
TENTH = 10.0
#: A full CPU is used by a crowd itself, by other processes and by kernel threads: the largest of the three has a third.
THIRD = 100.0 / 3.0
SOME_WAIT = Condition(
    wait.WAITING,
    ">=",
    Threshold("waiting", LEAST_WAITING, "with less, no thread lost a tenth of its time"),
)
MOSTLY_WAITS = Condition(wait.LOST, ">", Threshold("lost_pct", 50.0, "threads wait longer than they run"))
SERVES = Condition(wait.SERVES, "==", Threshold("serves", 1.0, "a program without clients makes none wait"))
_ENOUGH_PERIODS = Guard(
    Condition(
        wait.PERIODS,
        ">=",
        Threshold("periods", 20.0, "8 s contain 80 periods; 20 periods give an error of 20 points"),
    ),
    Sentence("guard.few_periods"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-SCHED-DELAY",
        title=Text("Threads wait for a CPU", "线程等待 CPU"),
        summary=Text(
            "Threads of {name} waited for a CPU in {value} % of the time that they could run, {delay_ms} ms each turn.",
            "{name} 的线程所需 CPU 时间中有 {value}% 在等待，每次上 CPU 前等待 {delay_ms} 毫秒。",
        ),
        measure=wait.LOST,
        op=">",
        thresholds=(
            ("info", Threshold("info", TENTH, "without the waits, the work would be a tenth faster")),
            ("warn", Threshold("warn", 50.0, "threads wait as long as they run")),
            ("critical", Threshold("critical", 75.0, "threads wait three times as long as they run")),
        ),
        also=(SOME_WAIT,),
        strength=Strength.CONTEXT,
        use=Use("cpu", "saturation"),
        refutes=(
            "thread-oversubscription",
            "cpu-quota-throttling",
            "cpu-neighbour-contention",
            "kernel-thread-busy",
        ),
        caveats=Text(
            "A symptom of many causes. Other rules determine the cause. Threads that a limit "
            "throttles wait as well.",
            "这是多种原因的共同症状，由其他规则判断归因。被限额压住的线程也算等待。",
        ),
        source="/proc/PID/task/*/schedstat: time waiting for a CPU against time on one, exact for all threads",
    ),
    Rule(
        id="F-CPU-EXHAUSTED",
        title=Text("No CPU is idle and threads wait for one", "没有空闲 CPU，线程在等待"),
        summary=Text(
            "All CPUs are busy, and CPU work of {name} takes {value} times as long as on an idle host. "
            "Busiest: {busiest} of a CPU.",
            "所有 CPU 都繁忙，{name} 的 CPU 工作耗时为空闲主机的 {value} 倍。最忙：{busiest}（单核）。",
        ),
        measure=wait.STRETCH,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 2.0, "at least half of the time is waiting, on any number of CPUs")),
            ("critical", Threshold("critical", 4.0, "three quarters of the time are waiting")),
        ),
        also=(
            SOME_WAIT,
            SERVES,
            Condition(
                MetricReading("cpu.total_busy_pct", "held"),
                ">",
                Threshold(
                    "busy", 95.0, "otherwise something else than the number of CPUs keeps threads waiting"
                ),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        causes=("cpu-exhausted",),
        suspects=("cpu-exhausted",),
        refutes=("cpu-exhausted",),
        refuted_by=("F-CPU-THROTTLED-WAITING",),
        caveats=Text(
            "Batch work with normal priority waits as well, and perhaps no user waits for it.",
            "普通优先级的批处理也会等待，而可能没有人在等它。",
        ),
        source="/proc/PID/task/*/schedstat: time on a CPU and time waiting for one; /proc/stat",
    ),
    Rule(
        id="F-THREADS-OVERSUB",
        title=Text("Many more runnable threads than CPUs", "可运行线程远多于 CPU"),
        summary=Text(
            "On average {runnable} threads of {name} are runnable on {cpus} CPUs: {value} per CPU.",
            "{name} 平均有 {runnable} 个可运行线程，可用 CPU 为 {cpus} 个，即每个 CPU {value} 个。",
        ),
        measure=wait.RUNNABLE_PER_CPU,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", CROWD, "sched_nr_latency of the kernel")),
            (
                "critical",
                Threshold("critical", 4 * CROWD, "four times the warning: each wait is 32 turns of others"),
            ),
        ),
        also=(
            Condition(
                wait.OWN_SHARE,
                ">",
                Threshold(
                    "own_share_pct", 50.0, "the threads themselves use most of the CPUs, not other processes"
                ),
            ),
            Condition(
                wait.RUNNABLE_PER_REQUEST,
                ">",
                Threshold("per_request", 2.0, "most of the threads work on no request that was taken"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        suspects=("thread-oversubscription",),
        causes=("thread-oversubscription",),
        caveats=Text(
            "Only runnable threads count. A thousand sleeping threads cost nothing.",
            "只计可运行线程：一千个睡眠线程没有代价。",
        ),
        source="schedstat: time on a CPU and waiting for one, by second and CPU allowed (affinity, cpuset, quota)",
    ),
    Rule(
        id="F-CPU-THROTTLED",
        title=Text("A CPU limit is reached", "CPU 限额生效"),
        summary=Text(
            "The limit of {quota} CPUs throttled the group in {value} % of the periods.",
            "该组在 {value}% 的周期中因 {quota} 个 CPU 的限额被限流。",
        ),
        measure=wait.THROTTLED,
        op=">",
        thresholds=(("warn", Threshold("warn", 25.0, "kubernetes-mixin CPUThrottlingHigh")),),
        guards=(_ENOUGH_PERIODS,),
        strength=Strength.CONTEXT,
        use=Use("cpu", "saturation"),
        suspects=("cpu-quota-throttling",),
        caveats=Text(
            "This does not show the effect on latency. The same share was measured with 8 "
            "threads and with 300.",
            "与延迟无必然关系：8 个线程与 300 个线程时占比相同。",
        ),
        source="cpu.stat nr_throttled / nr_periods",
    ),
    Rule(
        id="F-CPU-THROTTLED-WAITING",
        title=Text("A CPU limit makes threads wait", "CPU 限额使线程等待"),
        summary=Text(
            "Threads of {name} wait while the limit of {quota} CPUs throttles them in {value} % "
            "of the periods.",
            "{name} 的线程在等待，其 {quota} 个 CPU 的限额在 {value}% 的周期内触发限流。",
        ),
        measure=wait.THROTTLED_CROWD,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 25.0, "kubernetes-mixin CPUThrottlingHigh")),
            ("critical", Threshold("critical", 75.0, "three of four periods")),
        ),
        also=(
            Condition(wait.LOST, ">", Threshold("lost_pct", TENTH, "less is not why the work is slow")),
            SOME_WAIT,
            AnyCondition(
                (
                    Condition(
                        wait.RUNNABLE_PER_CPU,
                        "<=",
                        Threshold("runnable", CROWD, "above, the number of threads is the cause"),
                    ),
                    Condition(
                        wait.RUNNABLE_PER_REQUEST,
                        "<=",
                        Threshold("per_request", 2.0, "unless most of the threads work on a request"),
                    ),
                )
            ),
        ),
        guards=(
            _ENOUGH_PERIODS,
            Guard(
                Condition(
                    requests.P99,
                    ">=",
                    Threshold(
                        "p99_ms",
                        10.0,
                        "a limit stops threads until the next period of 100 ms; without waits of a tenth of that, "
                        "no request met it",
                    ),
                ),
                Sentence("guard.not_felt"),
                skip_when_missing=True,
                unless=Condition(
                    wait.SERVING_LOST,
                    ">=",
                    Threshold("felt_pct", 50.0, "before the first turn of a program, its clock does not run"),
                ),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        suspects=("cpu-quota-throttling",),
        causes=("cpu-quota-throttling",),
        refutes=("cpu-quota-throttling",),
        caveats=Text(
            "A batch job may be meant to wait for its share.",
            "批处理任务可能本就应当等待配额。",
        ),
        source="cpu.stat and schedstat of the same window",
    ),
    Rule(
        id="F-SCHED-NEIGHBOUR",
        title=Text("Other processes use the CPU that these threads wait for", "CPU 被其他进程占用"),
        summary=Text(
            "Threads of {name} wait while a neighbor, mainly {by}, uses {value} % of the {cpus} CPUs that they may "
            "use ({cores} CPUs). The group itself uses {own}.",
            "{name} 的线程在等待，而以 {by} 为主的邻居占用其可用 {cpus} 个 CPU 的 {value}%（{cores} 个），"
            "自身仅用 {own} 个。",
        ),
        measure=wait.OTHERS_SHARE,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", THIRD, "the largest of three users of a full CPU has a third")),
        ),
        also=(MOSTLY_WAITS, SOME_WAIT, SERVES),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        suspects=("cpu-neighbour-contention",),
        causes=("cpu-neighbour-contention",),
        refutes=("cpu-neighbour-contention",),
        caveats=Text(
            "Only where no CPU limit throttles the threads. Processes count by the CPU that they ran on last.",
            "仅在 CPU 限额未生效时判断；其他进程按其最近所在的 CPU 计入。",
        ),
        source="schedstat of the group, CPU time of all processes",
    ),
    Rule(
        id="F-KTHREAD-HOT",
        title=Text("A kernel thread uses the CPU", "内核线程占用 CPU"),
        summary=Text("{name} uses {value} % of a CPU.", "{name} 占用一个 CPU 的 {value}%。"),
        measure=wait.KERNEL_THREAD,
        op=">",
        thresholds=(
            ("info", Threshold("info", TENTH, "a tenth of what a thread can use at most")),
            ("warn", Threshold("warn", 50.0, "half of what a thread can use at most")),
        ),
        strength=Strength.CONTEXT,
        use=Use("kernel", "utilization"),
        refutes=("kernel-thread-busy",),
        caveats=Text(
            "Kernel threads work on behalf of other processes. Find those processes first.",
            "内核线程是在为其他进程工作：请先查明是哪些进程。",
        ),
        source="PF_KTHREAD in /proc/PID/stat, not brackets in a name",
    ),
    Rule(
        id="F-KTHREAD-STARVES",
        title=Text("Threads wait for a CPU that kernel threads use", "内核线程占用 CPU，其他线程等待"),
        summary=Text(
            "Kernel threads ({by}) use {value} % of the CPUs that threads of {name} wait for.",
            "内核线程（{by}）占用 {name} 的线程所等待 CPU 的 {value}%。",
        ),
        measure=wait.KERNEL_SHARE,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", THIRD, "the largest of three users of a full CPU has a third")),
            ("critical", Threshold("critical", 2 * THIRD, "twice as much as all others together")),
        ),
        also=(MOSTLY_WAITS, SOME_WAIT),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        suspects=("kernel-thread-busy",),
        related=(
            wait.DELAY,
            MetricReading("cpu.total_busy_pct", "mean"),
            MetricReading("sched.runq_per_cpu", "held"),
        ),
        causes=("kernel-thread-busy",),
        refutes=("kernel-thread-busy",),
        caveats=Text(
            "Network work (ksoftirqd) and memory work (kswapd) have separate causes.",
            "网络（ksoftirqd）与内存（kswapd）的工作另有原因归类。",
        ),
        source="schedstat of the group, CPU time of kernel threads",
    ),
    Rule(
        id="F-KTHREAD-BUSY",
        title=Text(
            "Kernel threads use more CPU than all other processes", "内核线程占用的 CPU 超过其他进程之和"
        ),
        summary=Text(
            "Kernel threads ({by}) use {value} % of the CPUs of {name}, more than all other processes.",
            "内核线程（{by}）占用 {name} 可用 CPU 的 {value}%，超过所有其他进程。",
        ),
        measure=wait.KERNEL_SHARE,
        op=">",
        thresholds=(("warn", Threshold("warn", THIRD, "as for threads that wait")),),
        strength=Strength.CORRELATIONAL,
        use=Use("kernel", "utilization"),
        suspects=("kernel-thread-busy",),
        related=(wait.DELAY, wait.WAITING, MetricReading("cpu.total_busy_pct", "mean")),
        causes=("kernel-thread-busy",),
        caveats=Text(
            "If no thread waits for a CPU, this costs only power. Compression, checksums and "
            "page merging are normal work.",
            "若没有任务等待 CPU，仅消耗电能：压缩、校验与页合并都是正常工作。",
        ),
        source="CPU time of kernel threads, grouped by the name before the slash",
    ),
    Rule(
        id="F-SCHED-RUNQ",
        title=Text("More runnable tasks than CPUs", "可运行任务多于 CPU"),
        summary=Text("{value} runnable tasks for each CPU.", "每个 CPU 有 {value} 个可运行任务。"),
        measure=MetricReading("sched.runq_per_cpu", "held"),
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "USE: a run queue longer than the number of CPUs")),
            ("critical", Threshold("critical", 2.0, "twice the CPUs")),
        ),
        strength=Strength.CONTEXT,
        use=Use("cpu", "saturation"),
        caveats=Text(
            "The count includes running tasks, the capture itself and tasks of the lowest priority.",
            "包含正在运行的任务与采集自身，也包含最低优先级的任务。",
        ),
        source="procs_running of /proc/stat",
    ),
    Rule(
        id="F-SCHED-CTXSW",
        title=Text("Many context switches", "上下文切换频繁"),
        summary=Text(
            "{value} context switches a second for each CPU.", "每个 CPU 每秒上下文切换 {value} 次。"
        ),
        measure=wait.SWITCHES,
        op=">",
        thresholds=(("info", Threshold("info", 4000.0, "PCP pmie: 4000 per CPU and second")),),
        also=(
            Condition(
                wait.SWITCHES, ">", Threshold("growth", 3.0, "three times the baseline"), against="baseline"
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("cpu", "saturation"),
        caveats=Text("Normal for proxies and databases.", "代理与数据库的常态。"),
        source="vmstat cs",
    ),
)
