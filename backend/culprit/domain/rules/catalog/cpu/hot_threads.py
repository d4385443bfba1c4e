"""Rules about how the CPU time of the busiest process is spread over its threads, and about bursts of tasks."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures import hot_threads as of

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-THREADS-SPREAD",
        title=Text("The CPU time is spread over many threads", "CPU 分散在多个线程上"),
        says=Text(
            "The busiest thread of {name} ({thread}) has {value} % of its CPU time.",
            "{name} 最忙的线程（{thread}）占其 CPU 的 {value} %。",
        ),
        measure=of.LARGEST_THREAD,
        op="<=",
        levels=(("info", Limit("info", 50.0, "no thread has more than all others together")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "Threads that live shorter than the reading do not appear.",
            "存活时间短于采样间隔的线程不会出现。",
        ),
        source="schedstat of the threads of the busiest process, half a CPU at least",
    ),
    Rule(
        id="F-THREAD-RUNTIME",
        title=Text("The runtime itself uses the CPU", "运行时自身消耗 CPU"),
        says=Text(
            "Collectors and compilers have {value} % of the CPU time of {name}, {thread} most of it.",
            "垃圾回收与编译线程占 {name} CPU 的 {value} %，以 {thread} 为主。",
        ),
        measure=of.RUNTIME_SHARE,
        op=">",
        levels=(("info", Limit("info", 50.0, "more than the program's own threads")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "Compilers are busy for minutes after a start, without harm.", "启动后数分钟编译线程繁忙属正常。"
        ),
        source="names of HotSpot's threads; other runtimes do not name theirs",
    ),
    Rule(
        id="F-SCHED-BURSTS",
        title=Text("Tasks become runnable in bursts", "任务成批变为可运行"),
        says=Text(
            "{value} times there were more than four runnable tasks for each CPU, {most} at most.",
            "有 {value} 次每个 CPU 的可运行任务超过 4 个，最多 {most} 个。",
        ),
        measure=of.BURSTS,
        op=">=",
        levels=(("info", Limit("info", 3.0, "what happens twice may be chance")),),
        grade=Grade.CONTEXT,
        also=(
            Condition(
                Over("sched.runq_per_cpu", "held"), "<=", Limit("held", 1.0, "else it is a steady load")
            ),
        ),
        traps=Text("One look a second misses what is shorter.", "每秒一次采样会漏掉更短的突发。"),
        source="/proc/stat procs_running, once a second",
    ),
)
