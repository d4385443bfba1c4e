"""Rules about waiting for a CPU: too many threads, CPU limits, neighbors, kernel threads."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import requests
from culprit.domain.rules.measures.cpu import wait
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.rule import AnyCondition, Condition, Guard, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

#: Four times the two to four threads per CPU that the case study allows in small containers. Healthy lab
#: hosts with a handful of threads and a worker pool below a third of a CPU have 6 to 12. Oversubscribed
#: services have 90 to 400.
CROWD = 16.0
_SOME_WAIT = Condition(
    wait.WAITING,
    ">=",
    Threshold("waiting", LEAST_WAITING, "with fewer, no request is delayed, however long one wait took"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-SCHED-DELAY",
        title=Text("Threads wait for a CPU", "线程等待 CPU"),
        summary=Text(
            "Threads of {name} waited {value} ms for a CPU before each time slice.",
            "{name} 的线程每次上 CPU 前平均等待 {value} 毫秒。",
        ),
        measure=wait.DELAY,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "case study: 0.1 ms after the fix, 3.6 ms before")),
            ("critical", Threshold("critical", 3.0, "case study: 3.6 ms")),
        ),
        also=(_SOME_WAIT,),
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
        source="/proc/PID/task/*/schedstat; perf sched reports smaller means for the same runs",
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
            _SOME_WAIT,
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
            ("warn", Threshold("warn", CROWD, "four times what small containers should have")),
            ("critical", Threshold("critical", 4 * CROWD, "four times the warning")),
        ),
        also=(
            Condition(wait.DELAY, ">", Threshold("delay_ms", 3.0, "as critical as in the case study")),
            AnyCondition(
                (
                    Condition(
                        wait.THROTTLED_CROWD, ">", Threshold("throttled_pct", 25.0, "kubernetes-mixin")
                    ),
                    Condition(
                        wait.OWN_SHARE,
                        ">",
                        Threshold(
                            "own_share_pct", 40.0, "the threads themselves use the CPUs, not other processes"
                        ),
                    ),
                )
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        suspects=("thread-oversubscription",),
        causes=("thread-oversubscription",),
        refutes=("thread-oversubscription",),
        caveats=Text(
            "Only runnable threads count. A thousand sleeping threads cost nothing.",
            "只计可运行线程：一千个睡眠线程没有代价。",
        ),
        source="case study: 1000 threads on one CPU; lab: healthy pools reach twice the CPUs",
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
        guards=(
            Guard(
                Condition(
                    wait.PERIODS,
                    ">=",
                    Threshold(
                        "periods", 20.0, "8 s contain 80 periods; 20 periods give an error of 20 points"
                    ),
                ),
                Sentence("guard.few_periods"),
            ),
        ),
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
            Condition(
                wait.DELAY,
                ">",
                Threshold("delay_ms", 1.0, "longer than after the fix in the case study, by a factor of ten"),
            ),
            _SOME_WAIT,
            Condition(
                wait.RUNNABLE_PER_CPU,
                "<=",
                Threshold("runnable", CROWD, "above, the number of threads is the cause"),
            ),
        ),
        guards=(
            Guard(
                Condition(
                    wait.PERIODS,
                    ">=",
                    Threshold(
                        "periods", 20.0, "8 s contain 80 periods; 20 periods give an error of 20 points"
                    ),
                ),
                Sentence("guard.few_periods"),
            ),
            Guard(
                Condition(
                    requests.P99,
                    ">=",
                    Threshold(
                        "p99_ms",
                        10.0,
                        "a limit stops threads for up to 100 ms; without waits of a tenth of that, no thread "
                        "was affected",
                    ),
                ),
                Sentence("guard.not_felt"),
                skip_when_missing=True,
                unless=Condition(
                    wait.SERVING_DELAY,
                    ">=",
                    Threshold(
                        "felt_ms", 10.0, "before the first time slice of a program, its clock does not run"
                    ),
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
            "Threads of {name} wait while other processes, mainly {by}, use {value} CPUs. The "
            "group itself uses {own}.",
            "{name} 的线程在等待，而以 {by} 为首的其他进程占用 {value} 个 CPU，自身仅用 {own} 个。",
        ),
        measure=wait.OTHERS_CORES,
        op=">",
        thresholds=(("warn", Threshold("warn", 0.5, "half a CPU")),),
        also=(
            Condition(
                wait.DELAY,
                ">",
                Threshold("delay_ms", 10.0, "healthy lab services next to full CPUs: 0.5 to 0.9 ms"),
            ),
            Condition(
                wait.RUNNABLE_PER_CPU,
                "<=",
                Threshold("runnable", CROWD, "above, the number of threads is the cause"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        suspects=("cpu-neighbour-contention",),
        causes=("cpu-neighbour-contention",),
        refutes=("cpu-neighbour-contention",),
        caveats=Text(
            "Only groups are checked, and only if their own limit does not throttle them.",
            "仅判断控制组，且其自身限额未生效。",
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
            ("warn", Threshold("warn", 5.0, "estimate: the case study measured 7 % for ksoftirqd")),
            ("critical", Threshold("critical", 30.0, "estimate: a third of a CPU")),
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
            "Kernel threads ({by}) use {value} % of a CPU while threads of {name} wait for it.",
            "内核线程（{by}）占用一个 CPU 的 {value}%，{name} 的线程只能等待。",
        ),
        measure=wait.KERNEL_CORES,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 30.0, "estimate: a third of a CPU")),
            ("critical", Threshold("critical", 70.0, "estimate")),
        ),
        also=(
            Condition(
                wait.DELAY,
                ">",
                Threshold("delay_ms", 10.0, "healthy lab services next to full CPUs: 0.5 to 0.9 ms"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        suspects=("kernel-thread-busy",),
        related=(
            wait.WAITING,
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
            "Kernel threads ({by}) use {value} % of a CPU, more than all processes other than {name}.",
            "内核线程（{by}）占用一个 CPU 的 {value}%，超过 {name} 之外所有进程之和。",
        ),
        measure=wait.KERNEL_CORES,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn", 50.0, "estimate: half a CPU; the archiver of the lab makes them use 55 to 65"
                ),
            ),
        ),
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
        summary=Text("{value} context switches a second.", "每秒上下文切换 {value} 次。"),
        measure=MetricReading("sched.switches_per_s", "held"),
        op=">",
        thresholds=(("info", Threshold("info", 4000.0, "PCP: 4000 per CPU and second; here for the host")),),
        also=(
            Condition(
                MetricReading("sched.switches_per_s", "mean"),
                ">",
                Threshold("growth", 3.0, "three times the baseline"),
                against="baseline",
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("cpu", "saturation"),
        caveats=Text("Normal for proxies and databases.", "代理与数据库的常态。"),
        source="vmstat cs",
    ),
)
