"""Rules about out-of-memory kills, and about heaps that exceed their limit."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.memory import heaps, kills
from culprit.domain.rules.measures.memory.shortage import USAGE
from culprit.domain.rules.rule import AnyCondition, Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-MEM-OOM-CGROUP",
        title=Text("Killed at the memory limit of its control group", "在控制组内存限额处被终止"),
        summary=Text(
            "{cgroup} reached its limit of {limit_mb} MiB; {value} kills within ten minutes. Killed: {comm}.",
            "{cgroup} 达到 {limit_mb} MiB 限额，十分钟内被终止 {value} 次；被终止的进程：{comm}。",
        ),
        measure=kills.OOM_KILLS,
        op=">",
        thresholds=(
            ("critical", Threshold("kills", 0.0, "a kill is never normal; the kernel counts and logs each")),
        ),
        strength=Strength.DIRECT,
        use=Use("memory", "errors"),
        suspects=("memcg-oom-kill",),
        related=(
            kills.GROUP_LIMIT,
            kills.VICTIM,
            kills.GROUP_PEAK,
            MetricReading("mem.available_pct", "min"),
        ),
        causes=("memcg-oom-kill",),
        refutes=("memcg-oom-kill",),
        harm=True,
        caveats=Text(
            "All containers of the host share the kernel log. Only groups of this capture are counted.",
            "内核日志由同机所有容器共享：只计入本次采集到的控制组。",
        ),
        source="memory.events oom_kill (v2), memory.oom_control (v1), oom_memcg= in the kernel's log",
    ),
    Rule(
        id="F-MEM-OOM-CONTAINER",
        title=Text("The container engine reports an OOM kill", "容器引擎报告 OOMKilled"),
        summary=Text(
            "{container}: OOMKilled ({value}), exit code {exit_code}.",
            "{container}：OOMKilled（{value}），退出码 {exit_code}。",
        ),
        measure=kills.CONTAINER_OOM,
        op="==",
        thresholds=(
            ("critical", Threshold("kills", 1.0, "State.OOMKilled of docker and podman, reason of CRI")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "errors"),
        suspects=("memcg-oom-kill",),
        related=(
            kills.CONTAINER_LIMIT,
            kills.CONTAINER_EXIT,
            kills.CONTAINER_RESTARTS,
            MetricReading("mem.available_pct", "min"),
        ),
        causes=("memcg-oom-kill",),
        harm=True,
        caveats=Text(
            "Engines keep the flag of a container that ended long ago, and miss kills of child processes.",
            "引擎会保留很久以前结束的容器的标记，也会漏掉子进程被终止的情况。",
        ),
        source="State.OOMKilled; a stopped container keeps it indefinitely, so it is weaker than "
        "the counter of the kernel",
    ),
    Rule(
        id="F-CONTAINER-EXIT-137",
        title=Text("A container ended by SIGKILL", "容器因 SIGKILL 退出"),
        summary=Text(
            "Exit code {value} is 128 + 9: the container received SIGKILL.",
            "退出码 {value} 即 128 + 9：容器收到了 SIGKILL。",
        ),
        measure=kills.CONTAINER_EXIT,
        op="==",
        thresholds=(("info", Threshold("code", 137.0, "128 + SIGKILL")),),
        strength=Strength.CONTEXT,
        use=Use("memory", "errors"),
        caveats=Text(
            "A stop that took too long, a failed probe or an operator also ends a container this way.",
            "停止超时、探针失败或人工操作也会这样结束容器。",
        ),
        source="refuted as evidence: any SIGKILL ends this way",
    ),
    Rule(
        id="F-MEM-OOM-EARLIER",
        title=Text("Earlier kills in this control group", "控制组此前有过 OOM 终止"),
        summary=Text(
            "{value} kills since the group was created, none in this capture.",
            "自控制组创建以来 {value} 次，本次采集期间没有。",
        ),
        measure=kills.OOM_KILLS_BEFORE,
        op=">",
        thresholds=(("info", Threshold("kills", 0.0, "counter since the group was created")),),
        strength=Strength.CONTEXT,
        use=Use("memory", "errors"),
        source="memory.events oom_kill without growth is no evidence for the present",
    ),
    Rule(
        id="F-MEM-OOM-HOST",
        title=Text("The host ran out of memory", "主机内存耗尽"),
        summary=Text(
            "{value} kills of {comm} ({pid}): the host had no memory left.",
            "内核终止了 {comm}（{pid}）{value} 次：主机无可用内存。",
        ),
        measure=kills.HOST_OOM_KILLS,
        op=">",
        thresholds=(("critical", Threshold("kills", 0.0, "CONSTRAINT_NONE in the kernel's log")),),
        strength=Strength.DIRECT,
        use=Use("memory", "errors"),
        related=(
            kills.HOST_VICTIM,
            MetricReading("mem.available_pct", "min"),
            MetricReading("mem.total_kb", "last"),
        ),
        causes=("memory-leak",),
        harm=True,
        caveats=Text(
            "The kernel kills the largest process, which is not necessarily the one that grew.",
            "被终止的是最大的进程，未必是增长的那个。",
        ),
        source="'Out of memory: Killed process' without a control group",
    ),
    Rule(
        id="F-JVM-OOM-KILLED",
        title=Text("The JVM exceeded the limit of its control group", "JVM 超出控制组限额"),
        summary=Text(
            "A JVM was killed with {anon_mb} MiB, {value} % of its limit of {limit_mb} MiB. Its "
            "heap has no matching limit.",
            "被终止的 JVM 占用 {anon_mb} MiB，为限额 {limit_mb} MiB 的 {value}%：其堆没有按限额设置。",
        ),
        measure=heaps.JVM_AT_LIMIT,
        op=">=",
        thresholds=(
            (
                "critical",
                Threshold("share", 50.0, "more than half: no other process of the group has as much"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "errors"),
        suspects=("jvm-heap-over-limit",),
        related=(kills.GROUP_LIMIT, kills.VICTIM, kills.OOM_KILLS, kills.LIMIT_HITS),
        causes=("jvm-heap-over-limit",),
        refuted_by=("F-JVM-HEAP-FITS",),
        harm=True,
        caveats=Text(
            "Direct buffers, threads and metaspace are not part of the heap. Check "
            "-XX:MaxHeapSize of the running JVM.",
            "直接内存、线程与元空间不属于堆：请核对当前 JVM 的 -XX:MaxHeapSize。",
        ),
        source="anon-rss of the victim in the kernel's log against the limit of its group",
    ),
    Rule(
        id="F-JVM-HEAP-OVER-LIMIT",
        title=Text("The heap may exceed the memory limit", "最大堆超出内存限额"),
        summary=Text(
            "-XX:MaxHeapSize is {max_heap_mb} MiB, {value} % of the limit of {limit_mb} MiB.",
            "-XX:MaxHeapSize 为 {max_heap_mb} MiB，是限额 {limit_mb} MiB 的 {value}%。",
        ),
        measure=heaps.HEAP_OF_LIMIT,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 75.0, "metaspace, code cache, threads and buffers need the rest")),
            ("critical", Threshold("critical", 100.0, "the heap alone exceeds the limit")),
        ),
        also=(
            AnyCondition(
                (
                    Condition(kills.OOM_KILLS, ">", Threshold("kills", 0.0, "kills have occurred")),
                    Condition(USAGE, ">", Threshold("usage", 90.0, "Netdata: cgroup memory 90 %")),
                )
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("memory", "utilization"),
        related=(heaps.MAX_HEAP, heaps.HEAP_LIMIT, heaps.HEAP_USED),
        causes=("jvm-heap-over-limit",),
        refutes=("jvm-heap-over-limit",),
        caveats=Text(
            "A large heap that is never filled has no effect: the group must be near its limit "
            "or have had a kill.",
            "从未填满的大堆没有影响：控制组须接近限额或已被终止。",
        ),
        source="VM.flags of the running process",
    ),
    Rule(
        id="F-JVM-HEAP-FITS",
        title=Text("The heap fits into the memory limit", "最大堆在限额之内"),
        summary=Text("-XX:MaxHeapSize is {value} % of the limit.", "-XX:MaxHeapSize 为限额的 {value}%。"),
        measure=heaps.HEAP_OF_LIMIT,
        op="<=",
        thresholds=(("info", Threshold("share", 75.0, "heap at most 75 % of the limit")),),
        strength=Strength.CONTEXT,
        use=Use("memory", "utilization"),
        source="contradicts a kill of that JVM: memory other than the heap grew",
    ),
)
