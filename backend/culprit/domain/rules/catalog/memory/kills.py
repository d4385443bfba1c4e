"""Rules about kills for want of memory, and about heaps that outgrow their limit."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import AnyOf, Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures import heaps
from culprit.core.rules.measures import memory_kills as of
from culprit.core.rules.measures.memory import USAGE

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-MEM-OOM-CGROUP",
        title=Text("Killed at the memory limit of its control group", "在控制组内存限额处被终止"),
        says=Text(
            "{value} kills in {cgroup} within ten minutes: its limit of {limit_mb} MiB was reached; killed: {comm}.",
            "{cgroup} 在十分钟内被终止 {value} 次：达到 {limit_mb} MiB 限额；被终止：{comm}。",
        ),
        measure=of.OOM_KILLS,
        op=">",
        levels=(
            ("critical", Limit("kills", 0.0, "a kill is never normal; the kernel counts and logs each")),
        ),
        grade=Grade.DIRECT,
        beside=(of.GROUP_LIMIT, of.VICTIM, of.GROUP_PEAK, Over("mem.available_pct", "min")),
        causes=("memcg-oom-kill",),
        refutes=("memcg-oom-kill",),
        traps=Text(
            "The kernel's log is shared by all containers of the machine: only groups that were seen here count.",
            "内核日志由同机所有容器共享：只计入本次看到的控制组。",
        ),
        source="memory.events oom_kill (v2), memory.oom_control (v1), oom_memcg= in the kernel's log",
    ),
    Rule(
        id="F-MEM-OOM-CONTAINER",
        title=Text("The engine says that a container was OOM-killed", "容器引擎报告 OOMKilled"),
        says=Text(
            "{container}: OOMKilled ({value}), exit code {exit_code}.",
            "{container}：OOMKilled（{value}），退出码 {exit_code}。",
        ),
        measure=of.CONTAINER_OOM,
        op="==",
        levels=(("critical", Limit("told", 1.0, "State.OOMKilled of docker and podman, reason of CRI")),),
        grade=Grade.CORRELATIONAL,
        beside=(
            of.CONTAINER_LIMIT,
            of.CONTAINER_EXIT,
            of.CONTAINER_RESTARTS,
            Over("mem.available_pct", "min"),
        ),
        causes=("memcg-oom-kill",),
        traps=Text(
            "Engines keep the flag of a container that ended long ago, and miss kills of child processes.",
            "引擎会保留很久以前结束的容器的标记，也会漏掉子进程被终止的情况。",
        ),
        source="State.OOMKilled; a stopped container keeps it for ever, so it is weaker than the kernel's own count",
    ),
    Rule(
        id="F-CONTAINER-EXIT-137",
        title=Text("A container ended by SIGKILL", "容器因 SIGKILL 退出"),
        says=Text(
            "Exit code {value} is 128 + 9: somebody sent SIGKILL.",
            "退出码 {value} 即 128 + 9：收到了 SIGKILL。",
        ),
        measure=of.CONTAINER_EXIT,
        op="==",
        levels=(("info", Limit("code", 137.0, "128 + SIGKILL")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "A stop that took too long, a failed probe or an operator end a container so as well.",
            "停止超时、探针失败或人工操作也会如此。",
        ),
        source="refuted as evidence: any SIGKILL ends so",
    ),
    Rule(
        id="F-MEM-OOM-EARLIER",
        title=Text("Kills in this control group earlier", "控制组此前有过 OOM 终止"),
        says=Text(
            "{value} kills since the group was made, none now.", "自控制组创建以来 {value} 次，本次没有。"
        ),
        measure=of.OOM_KILLS_BEFORE,
        op=">",
        levels=(("info", Limit("kills", 0.0, "counter since the group was made")),),
        grade=Grade.CONTEXT,
        source="memory.events oom_kill without growth says nothing of now",
    ),
    Rule(
        id="F-MEM-OOM-HOST",
        title=Text("The host ran out of memory", "主机内存耗尽"),
        says=Text(
            "{value} kill of {comm} ({pid}): no memory left on the host.",
            "内核终止了 {comm}（{pid}）{value} 次：主机无可用内存。",
        ),
        measure=of.HOST_OOM_KILLS,
        op=">",
        levels=(("critical", Limit("kills", 0.0, "CONSTRAINT_NONE in the kernel's log")),),
        grade=Grade.DIRECT,
        beside=(of.HOST_VICTIM, Over("mem.available_pct", "min"), Over("mem.total_kb", "last")),
        causes=("memory-leak",),
        traps=Text(
            "Who is killed is the largest, not necessarily the one that grew.",
            "被终止的是最大的进程，未必是增长的那个。",
        ),
        source="'Out of memory: Killed process' without a control group",
    ),
    Rule(
        id="F-JVM-OOM-KILLED",
        title=Text("The JVM outgrew the limit of its control group", "JVM 超出控制组限额"),
        says=Text(
            "A JVM was killed holding {anon_mb} MiB, {value} % of its limit of {limit_mb} MiB: the heap knows none.",
            "被终止的 JVM 占用 {anon_mb} MiB，为限额 {limit_mb} MiB 的 {value}%：堆未受限额约束。",
        ),
        measure=heaps.JVM_AT_LIMIT,
        op=">=",
        levels=(
            ("critical", Limit("share", 50.0, "more than half: nobody else in the group holds as much")),
        ),
        grade=Grade.MECHANISM,
        beside=(of.GROUP_LIMIT, of.VICTIM, of.OOM_KILLS, of.LIMIT_HITS),
        causes=("jvm-heap-over-limit",),
        refuted_by=("F-JVM-HEAP-FITS",),
        traps=Text(
            "Direct buffers, threads and metaspace are not heap: read -XX:MaxHeapSize of the JVM that runs now.",
            "直接内存、线程与元空间不属于堆：请核对当前 JVM 的 -XX:MaxHeapSize。",
        ),
        source="anon-rss of the victim in the kernel's log against the limit of its group",
    ),
    Rule(
        id="F-JVM-HEAP-OVER-LIMIT",
        title=Text("The heap may outgrow the memory limit", "最大堆超出内存限额"),
        says=Text(
            "-XX:MaxHeapSize is {max_heap_mb} MiB, {value} % of the limit of {limit_mb} MiB.",
            "-XX:MaxHeapSize 为 {max_heap_mb} MiB，是限额 {limit_mb} MiB 的 {value}%。",
        ),
        measure=heaps.HEAP_OF_LIMIT,
        op=">",
        levels=(
            ("warn", Limit("warn", 75.0, "metaspace, code cache, threads and buffers need the rest")),
            ("critical", Limit("critical", 100.0, "the heap alone does not fit")),
        ),
        also=(
            AnyOf(
                (
                    Condition(of.OOM_KILLS, ">", Limit("kills", 0.0, "it has hurt")),
                    Condition(USAGE, ">", Limit("usage", 90.0, "Netdata: cgroup memory 90 %")),
                )
            ),
        ),
        grade=Grade.DIRECT,
        beside=(heaps.MAX_HEAP, heaps.HEAP_LIMIT, heaps.HEAP_USED),
        causes=("jvm-heap-over-limit",),
        refutes=("jvm-heap-over-limit",),
        traps=Text(
            "A great heap that is never filled hurts nobody: the group must be near its limit or have been killed.",
            "从未填满的大堆没有影响：控制组须接近限额或已被终止。",
        ),
        source="VM.flags of the running process",
    ),
    Rule(
        id="F-JVM-HEAP-FITS",
        title=Text("The heap fits into the memory limit", "最大堆在限额之内"),
        says=Text("-XX:MaxHeapSize is {value} % of the limit.", "-XX:MaxHeapSize 为限额的 {value}%。"),
        measure=heaps.HEAP_OF_LIMIT,
        op="<=",
        levels=(("info", Limit("share", 75.0, "heap at most 75 % of the limit")),),
        grade=Grade.CONTEXT,
        source="takes the word away from a kill of that JVM: what grew was not the heap",
    ),
)
