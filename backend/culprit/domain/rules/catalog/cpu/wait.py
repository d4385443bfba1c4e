"""Rules about waiting for a CPU: too many threads, a limit that strikes, neighbours, kernel threads."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import AnyOf, Condition, Grade, Guard, Limit, Over, Rule
from culprit.core.rules.measures import app_requests as requests
from culprit.core.rules.measures import cpu_wait as wait
from culprit.core.rules.measures.cpu_crowds import LEAST_WAITING

#: Four times the two to four threads for each CPU that the case study allows small containers. Controls of the lab: a
#: handful of threads and a pool of workers under a third of a CPU make 6 to 12; oversubscribed services 90 to 400.
CROWD = 16.0
_SOME_WAIT = Condition(
    wait.WAITING,
    ">=",
    Limit("waiting", LEAST_WAITING, "of fewer nobody is held up, whatever a single turn took"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-SCHED-DELAY",
        title=Text("Threads wait for a CPU", "线程等待 CPU"),
        says=Text(
            "Threads of {name} waited {value} ms for a CPU before each turn.",
            "{name} 的线程每次上 CPU 前平均等待 {value} 毫秒。",
        ),
        measure=wait.DELAY,
        op=">",
        levels=(
            ("warn", Limit("warn", 1.0, "case study: 0.1 ms after the fix, 3.6 ms before")),
            ("critical", Limit("critical", 3.0, "case study: 3.6 ms")),
        ),
        also=(_SOME_WAIT,),
        grade=Grade.CONTEXT,
        refutes=(
            "thread-oversubscription",
            "cpu-quota-throttling",
            "cpu-neighbour-contention",
            "kernel-thread-busy",
        ),
        traps=Text(
            "A symptom of many causes: other rules say whose doing it is. Threads that a limit holds back wait too.",
            "这是多种原因的共同症状，由其他规则判断归因。被限额压住的线程也算等待。",
        ),
        source="/proc/PID/task/*/schedstat; perf sched tells smaller means for the same runs",
    ),
    Rule(
        id="F-THREADS-OVERSUB",
        title=Text("Far more runnable threads than CPUs", "可运行线程远多于 CPU"),
        says=Text(
            "{runnable} threads of {name} want to run at a moment, on {cpus} CPUs: {value} for each.",
            "{name} 同时有 {runnable} 个线程想运行，可用 CPU 为 {cpus} 个，即每个 CPU {value} 个。",
        ),
        measure=wait.RUNNABLE_PER_CPU,
        op=">",
        levels=(
            ("warn", Limit("warn", CROWD, "four times what small containers are allowed")),
            ("critical", Limit("critical", 4 * CROWD, "four times the warning")),
        ),
        also=(
            Condition(wait.DELAY, ">", Limit("delay_ms", 3.0, "as critical as in the case study")),
            AnyOf(
                (
                    Condition(wait.THROTTLED_CROWD, ">", Limit("throttled_pct", 25.0, "kubernetes-mixin")),
                    Condition(
                        wait.OWN_SHARE,
                        ">",
                        Limit("own_share_pct", 40.0, "they themselves, not others, use the CPUs"),
                    ),
                )
            ),
        ),
        grade=Grade.MECHANISM,
        causes=("thread-oversubscription",),
        refutes=("thread-oversubscription",),
        traps=Text(
            "Runnable threads count, not existing ones: a thousand sleeping threads cost nothing.",
            "只计可运行线程：一千个睡眠线程没有代价。",
        ),
        source="case study: 1000 threads beside one CPU; the lab: twice the CPUs is met by healthy pools",
    ),
    Rule(
        id="F-CPU-THROTTLED",
        title=Text("A CPU limit strikes", "CPU 限额生效"),
        says=Text(
            "In {value} % of the periods the limit of {quota} CPUs held the group back.",
            "{value}% 的周期中，{quota} 个 CPU 的限额压住了该组。",
        ),
        measure=wait.THROTTLED,
        op=">",
        levels=(("warn", Limit("warn", 25.0, "kubernetes-mixin CPUThrottlingHigh")),),
        guards=(
            Guard(
                Condition(
                    wait.PERIODS,
                    ">=",
                    Limit("periods", 20.0, "8 s hold 80 periods; 20 are known to 20 points"),
                ),
                Sentence("guard.few_periods"),
            ),
        ),
        grade=Grade.CONTEXT,
        traps=Text(
            "Says nothing about latency: the same share was measured with 8 threads and with 300.",
            "与延迟无必然关系：8 个线程与 300 个线程时占比相同。",
        ),
        source="cpu.stat nr_throttled / nr_periods",
    ),
    Rule(
        id="F-CPU-THROTTLED-WAITING",
        title=Text("A CPU limit makes threads wait", "CPU 限额使线程等待"),
        says=Text(
            "Threads of {name} wait while the limit of {quota} CPUs strikes in {value} % of its periods.",
            "{name} 的线程在等待，其 {quota} 个 CPU 的限额在 {value}% 的周期内生效。",
        ),
        measure=wait.THROTTLED_CROWD,
        op=">",
        levels=(
            ("warn", Limit("warn", 25.0, "kubernetes-mixin CPUThrottlingHigh")),
            ("critical", Limit("critical", 75.0, "three of four periods")),
        ),
        also=(
            Condition(
                wait.DELAY,
                ">",
                Limit("delay_ms", 1.0, "longer than after the fix of the case study, ten times"),
            ),
            _SOME_WAIT,
            Condition(
                wait.RUNNABLE_PER_CPU, "<=", Limit("runnable", CROWD, "above, their number is the cause")
            ),
        ),
        guards=(
            Guard(
                Condition(
                    wait.PERIODS,
                    ">=",
                    Limit("periods", 20.0, "8 s hold 80 periods; 20 are known to 20 points"),
                ),
                Sentence("guard.few_periods"),
            ),
            Guard(
                Condition(
                    requests.P99,
                    ">=",
                    Limit("p99_ms", 10.0, "a limit stops threads for up to 100 ms; a tenth of it nobody met"),
                ),
                Sentence("guard.not_felt"),
                where_known=True,
                unless=Condition(
                    wait.SERVING_DELAY,
                    ">=",
                    Limit("felt_ms", 10.0, "before a program's first turn its own clock does not run"),
                ),
            ),
        ),
        grade=Grade.MECHANISM,
        causes=("cpu-quota-throttling",),
        refutes=("cpu-quota-throttling",),
        traps=Text(
            "A batch job may be meant to wait for its share.",
            "批处理任务可能本就应当等待配额。",
        ),
        source="cpu.stat and schedstat of the same window",
    ),
    Rule(
        id="F-SCHED-NEIGHBOUR",
        title=Text("Others use the CPU that these threads wait for", "CPU 被其他进程占用"),
        says=Text(
            "Threads of {name} wait while others, {by} above all, use {value} CPUs and they themselves {own}.",
            "{name} 的线程在等待，而以 {by} 为首的其他进程占用 {value} 个 CPU，自身仅用 {own} 个。",
        ),
        measure=wait.OTHERS_CORES,
        op=">",
        levels=(("warn", Limit("warn", 0.5, "half a CPU")),),
        also=(
            Condition(
                wait.DELAY,
                ">",
                Limit("delay_ms", 10.0, "healthy services of the lab beside full CPUs: 0.5 to 0.9 ms"),
            ),
            Condition(
                wait.RUNNABLE_PER_CPU, "<=", Limit("runnable", CROWD, "above, their number is the cause")
            ),
        ),
        grade=Grade.MECHANISM,
        causes=("cpu-neighbour-contention",),
        refutes=("cpu-neighbour-contention",),
        traps=Text(
            "Only groups are judged, and only without a limit of their own that strikes.",
            "仅判断控制组，且其自身限额未生效。",
        ),
        source="schedstat of the group, CPU time of all processes",
    ),
    Rule(
        id="F-KTHREAD-HOT",
        title=Text("A kernel thread uses the CPU", "内核线程占用 CPU"),
        says=Text("{name} uses {value} % of a CPU.", "{name} 占用一个 CPU 的 {value}%。"),
        measure=wait.KERNEL_THREAD,
        op=">",
        levels=(
            ("warn", Limit("warn", 5.0, "own: the case study saw 7 % of ksoftirqd")),
            ("critical", Limit("critical", 30.0, "own: a third of a CPU")),
        ),
        grade=Grade.CONTEXT,
        refutes=("kernel-thread-busy",),
        traps=Text(
            "Kernel threads work for somebody: find out for whom before blaming them.",
            "内核线程总在替别人干活：先弄清是谁。",
        ),
        source="PF_KTHREAD in /proc/PID/stat, not brackets in a name",
    ),
    Rule(
        id="F-KTHREAD-STARVES",
        title=Text("Threads wait for a CPU that kernel threads use", "内核线程占用 CPU，其他线程等待"),
        says=Text(
            "Kernel threads ({by}) use {value} % of a CPU while threads of {name} wait for it.",
            "内核线程（{by}）占用一个 CPU 的 {value}%，{name} 的线程只能等待。",
        ),
        measure=wait.KERNEL_CORES,
        op=">",
        levels=(
            ("warn", Limit("warn", 30.0, "own: a third of a CPU")),
            ("critical", Limit("critical", 70.0, "own")),
        ),
        also=(
            Condition(
                wait.DELAY,
                ">",
                Limit("delay_ms", 10.0, "healthy services of the lab beside full CPUs: 0.5 to 0.9 ms"),
            ),
        ),
        grade=Grade.MECHANISM,
        beside=(wait.WAITING, Over("cpu.total_busy_pct", "mean"), Over("sched.runq_per_cpu", "held")),
        causes=("kernel-thread-busy",),
        refutes=("kernel-thread-busy",),
        traps=Text(
            "Work of the network (ksoftirqd) and of memory (kswapd) has causes of its own.",
            "网络（ksoftirqd）与内存（kswapd）的工作另有原因归类。",
        ),
        source="schedstat of the group, CPU time of kernel threads",
    ),
    Rule(
        id="F-KTHREAD-BUSY",
        title=Text("Kernel threads use more CPU than all else", "内核线程占用的 CPU 超过其他进程之和"),
        says=Text(
            "Kernel threads ({by}) use {value} % of a CPU, more than all processes beside {name}.",
            "内核线程（{by}）占用一个 CPU 的 {value}%，超过 {name} 之外所有进程之和。",
        ),
        measure=wait.KERNEL_CORES,
        op=">",
        levels=(
            ("warn", Limit("warn", 50.0, "own: half a CPU; the archiver of the lab makes them use 55 to 65")),
        ),
        grade=Grade.CORRELATIONAL,
        beside=(wait.DELAY, wait.WAITING, Over("cpu.total_busy_pct", "mean")),
        causes=("kernel-thread-busy",),
        traps=Text(
            "Where nobody waits for a CPU it costs power only: compression, checksums and page merging are work.",
            "若无人等待 CPU，仅消耗电能：压缩、校验与页合并都是正常工作。",
        ),
        source="CPU time of kernel threads, by what they are called before the slash",
    ),
    Rule(
        id="F-SCHED-RUNQ",
        title=Text("More runnable tasks than CPUs", "可运行任务多于 CPU"),
        says=Text("{value} runnable tasks for each CPU.", "每个 CPU 有 {value} 个可运行任务。"),
        measure=Over("sched.runq_per_cpu", "held"),
        op=">",
        levels=(
            ("warn", Limit("warn", 1.0, "USE: a run queue longer than the CPUs")),
            ("critical", Limit("critical", 2.0, "twice the CPUs")),
        ),
        grade=Grade.CONTEXT,
        traps=Text(
            "Counts those that run, and the capture itself; tasks of the lowest priority count as well.",
            "包含正在运行的任务与采集自身，也包含最低优先级的任务。",
        ),
        source="procs_running of /proc/stat",
    ),
    Rule(
        id="F-SCHED-CTXSW",
        title=Text("Many context switches", "上下文切换频繁"),
        says=Text("{value} context switches a second.", "每秒上下文切换 {value} 次。"),
        measure=Over("sched.switches_per_s", "held"),
        op=">",
        levels=(("info", Limit("info", 4000.0, "PCP: 4000 a CPU and second; here for the host")),),
        also=(
            Condition(
                Over("sched.switches_per_s", "mean"),
                ">",
                Limit("growth", 3.0, "three times the baseline"),
                against="baseline",
            ),
        ),
        grade=Grade.CONTEXT,
        traps=Text("Normal for proxies and databases.", "代理与数据库的常态。"),
        source="vmstat cs",
    ),
)
