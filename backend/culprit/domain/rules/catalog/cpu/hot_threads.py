"""Rules about how the CPU time of the busiest process is distributed over its threads, and about task bursts."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.cpu import hot_threads
from culprit.domain.rules.rule import Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-THREADS-SPREAD",
        title=Text("CPU time is spread over many threads", "CPU 分散在多个线程上"),
        summary=Text(
            "The busiest thread of {name}, {thread}, has {value} % of its CPU time.",
            "{name} 最忙的线程（{thread}）占其 CPU 的 {value} %。",
        ),
        measure=hot_threads.LARGEST_THREAD,
        op="<=",
        thresholds=(("info", Threshold("info", 50.0, "no thread has more than all others together")),),
        strength=Strength.CONTEXT,
        use=Use("cpu", "utilization"),
        caveats=Text(
            "Threads that live shorter than the sampling interval do not appear.",
            "存活时间短于采样间隔的线程不会出现。",
        ),
        source="schedstat of the threads of the busiest process, which uses at least half a CPU",
    ),
    Rule(
        id="F-THREAD-RUNTIME",
        title=Text("The runtime itself uses the CPU", "运行时自身消耗 CPU"),
        summary=Text(
            "Collector and compiler threads have {value} % of the CPU time of {name}, mainly {thread}.",
            "垃圾回收与编译线程占 {name} CPU 的 {value} %，以 {thread} 为主。",
        ),
        measure=hot_threads.RUNTIME_SHARE,
        op=">",
        thresholds=(("info", Threshold("info", 50.0, "more than the threads of the program itself")),),
        strength=Strength.CONTEXT,
        use=Use("cpu", "utilization"),
        caveats=Text(
            "Compilers are busy for minutes after a start. This is normal.",
            "启动后数分钟编译线程繁忙属正常。",
        ),
        source="names of HotSpot threads; other runtimes do not name theirs",
    ),
    Rule(
        id="F-SCHED-BURSTS",
        title=Text("Tasks become runnable in bursts", "任务成批变为可运行"),
        summary=Text(
            "In {value} samples there were more than four runnable tasks per CPU, at most {most}.",
            "有 {value} 次采样中每个 CPU 的可运行任务超过 4 个，最多 {most} 个。",
        ),
        measure=hot_threads.BURSTS,
        op=">=",
        thresholds=(("info", Threshold("info", 3.0, "twice may be chance")),),
        strength=Strength.CONTEXT,
        use=Use("cpu", "saturation"),
        also=(
            Condition(
                MetricReading("sched.runq_per_cpu", "held"),
                "<=",
                Threshold("held", 1.0, "otherwise it is a steady load"),
            ),
        ),
        caveats=Text("One sample per second misses shorter bursts.", "每秒一次采样会漏掉更短的突发。"),
        source="/proc/stat procs_running, once a second",
    ),
)
