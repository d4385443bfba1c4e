"""Rules about profiles: hot functions, changes, locks, and the quality of stacks."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.cpu import profile
from culprit.domain.rules.rule import Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_BUSY = (MetricReading("cpu.total_busy_pct", "mean"), MetricReading("sched.runq_per_cpu", "held"))

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-FLAME-HOT-FUNCTION",
        title=Text("One function takes most of a service's CPU", "单个函数占据服务的大部分 CPU"),
        summary=Text(
            "{value} % of the {samples} samples of this service end in {function}.",
            "该服务 {samples} 个采样中有 {value}% 落在 {function}。",
        ),
        measure=profile.HOT_FUNCTION,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn",
                    60.0,
                    "estimate: more than all other functions together, beyond the error of 100 samples",
                ),
            ),
            ("critical", Threshold("critical", 90.0, "estimate: hardly any other function")),
        ),
        also=(
            Condition(
                profile.SERVING_CPU, ">", Threshold("cpu_pct", 10.0, "below, the CPU use is irrelevant")
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "utilization"),
        related=_BUSY,
        causes=("cpu-hot-function",),
        refutes=("cpu-hot-function",),
        caveats=Text(
            "A batch job is a hot loop by nature, so only serving programs are checked. "
            "Interpreter loops are not counted. Without an earlier profile, a change cannot be "
            "shown.",
            "批处理本就是一个热循环，因此只检查提供服务的程序，且不计解释器循环。"
            "没有更早的剖析时无法判断是否变化。",
        ),
        source="own time of functions in programs with a listening socket; healthy hosts of the lab "
        "have 25 to 30 %",
    ),
    Rule(
        id="F-JAVA-HOT-CLASS",
        title=Text("One class takes most of the CPU of a Java program", "单个类占据 Java 程序的大部分 CPU"),
        summary=Text(
            "Of the CPU time of {threads} Java threads, {value} % went to threads that were in {class}.",
            "{threads} 个 Java 线程的 CPU 时间中，{value} % 属于正处于 {class} 的线程。",
        ),
        measure=profile.JAVA_HOT_CLASS,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 60.0, "more than all other classes together, as for functions")),
            ("critical", Threshold("critical", 90.0, "hardly any other class")),
        ),
        also=(
            Condition(
                profile.SERVING_CPU, ">", Threshold("cpu_pct", 10.0, "below, the CPU use is irrelevant")
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "utilization"),
        related=_BUSY,
        causes=("cpu-hot-function",),
        caveats=Text(
            "The innermost frame is read at a safepoint, near to what computes. A profile of the native code shows "
            "Java functions only with symbols.",
            "最内层帧在安全点处读取，接近真正计算的位置；只有带符号时，本机代码剖析才显示 Java 函数。",
        ),
        source="Thread.print of HotSpot, five times in two seconds: innermost frame, cpu=",
    ),
    Rule(
        id="F-FLAME-DIFF",
        title=Text("CPU share of a function grew", "函数的 CPU 占比增长"),
        summary=Text(
            "{function} grew by {value} percentage points of the CPU samples, from {before} % to {share} %.",
            "{function} 的采样占比增长 {value} 个百分点，由 {before}% 升至 {share}%。",
        ),
        measure=profile.CHANGED,
        op=">",
        thresholds=(("info", Threshold("info", 5.0, "playbook: 5 points with 500 samples each")),),
        also=(
            Condition(
                profile.SAMPLES,
                ">",
                Threshold("samples", 0.0, "an earlier profile exists"),
                against="baseline",
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("cpu", "utilization"),
        caveats=Text("A different mix of requests also changes shares.", "负载构成变化也会改变占比。"),
        source="two CPU profiles of the same host",
    ),
    Rule(
        id="F-LOCK-FUTEX-BUSY",
        title=Text("Threads often block in futex", "线程频繁进出 futex 等待"),
        summary=Text(
            "{value} threads of {name} are in a futex wait most of the time and wake up often.",
            "{name} 有 {value} 个线程大多停在 futex 且不断被唤醒。",
        ),
        measure=profile.PARKED,
        op=">=",
        thresholds=(("info", Threshold("info", 4.0, "estimate: a handful of workers")),),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        suspects=("lock-contention",),
        caveats=Text(
            "Idle workers park there too. Only stacks distinguish the two.",
            "空闲的工作线程也停在这里：须看调用栈。",
        ),
        source="/proc/PID/task/*/wchan ten times a second",
    ),
    Rule(
        id="F-LOCK-OFFCPU",
        title=Text("Threads wait for a lock", "线程等待锁"),
        summary=Text(
            "On average {value} threads wait for a lock that another thread holds ({frames}).",
            "平均有 {value} 个线程在等待其他线程持有的锁（{frames}）。",
        ),
        measure=profile.LOCK_WAITERS,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 2.0, "estimate: at any time, at least two threads queue for a lock")),
            ("critical", Threshold("critical", 8.0, "estimate: a complete pool")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        related=_BUSY,
        causes=("lock-contention",),
        refutes=("lock-contention",),
        refuted_by=("F-THREADS-OVERSUB", "F-CPU-THROTTLED-WAITING"),
        caveats=Text(
            "The owner of the lock may itself wait for a CPU.",
            "持锁者自身可能正在等待 CPU。",
        ),
        source="off-CPU time below functions that take locks, without waits for conditions",
    ),
    Rule(
        id="F-LOCK-JAVA-MONITOR",
        title=Text("Java threads wait for one monitor", "Java 线程等待同一监视器"),
        summary=Text(
            "{value} threads wait for a {lock} that {owner} holds.",
            "{value} 个线程在等待 {owner} 持有的 {lock}。",
        ),
        measure=profile.JAVA_LOCKS,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 4.0, "estimate: a handful of workers wait for one")),
            ("critical", Threshold("critical", 16.0, "estimate: a complete pool")),
        ),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        related=_BUSY,
        causes=("lock-contention",),
        refutes=("lock-contention",),
        refuted_by=("F-THREADS-OVERSUB", "F-CPU-THROTTLED-WAITING"),
        harm=True,
        caveats=Text(
            "One dump is one moment. The safepoint itself may also collect waiting threads.",
            "一次转储仅是一个瞬间，安全点也可能聚集等待者。",
        ),
        source="`waiting to lock` and the owner of the monitor in a thread dump",
    ),
    Rule(
        id="F-PERF-LOST",
        title=Text("Samples were lost", "采样丢失"),
        summary=Text("{value} % of the samples of {kind} were lost.", "{kind} 有 {value}% 的采样丢失。"),
        measure=profile.LOST,
        op=">",
        thresholds=(("info", Threshold("info", 1.0, "playbook; shares of such a profile are not used")),),
        strength=Strength.CONTEXT,
        use=None,
        source="count of lost records from perf",
    ),
    Rule(
        id="F-PERF-UNKNOWN-FRAMES",
        title=Text("Many samples have no function name", "大量采样缺少函数名"),
        summary=Text(
            "{value} % of the samples of {kind} have no function name.",
            "{kind} 有 {value}% 的采样没有函数名。",
        ),
        measure=profile.UNKNOWN,
        op=">",
        thresholds=(("info", Threshold("info", 30.0, "playbook: symbols or frame pointers are missing")),),
        strength=Strength.CONTEXT,
        use=None,
        caveats=Text(
            "Typical reasons: JIT without a perf map, stripped binaries, code built without frame pointers.",
            "JIT 无 perf map、符号被剥离，或编译时省略帧指针。",
        ),
        source="frames without a symbol",
    ),
    Rule(
        id="F-CAPTURE-DISTURBED",
        title=Text("The capture itself used much CPU", "采集自身占用较多 CPU"),
        summary=Text("The capture used {value} CPUs.", "采集占用 {value} 个 CPU。"),
        measure=profile.CAPTURE_COST,
        op=">",
        thresholds=(("info", Threshold("info", 1.0, "playbook: more than one CPU")),),
        strength=Strength.CONTEXT,
        use=None,
        caveats=Text(
            "Rates measured during the capture include the capture itself.", "采集期间的速率包含采集自身。"
        ),
        source="CPU time of the control group of the runner",
    ),
)
