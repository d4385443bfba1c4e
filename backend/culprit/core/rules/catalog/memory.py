"""Rules about memory: kills, limits that are too small, heaps, leaks, swapping."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import AnyOf, Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures import memory as of

_KILLS = (
    Rule(
        id="F-MEM-OOM-CGROUP",
        title=Text("Killed at the memory limit of its control group", "在控制组内存限额处被终止"),
        says=Text(
            "{value} kills in {cgroup} within ten minutes: its limit of {limit_mb} MiB was reached; killed: {comm}.",
            "{cgroup} 在十分钟内被终止 {value} 次：达到 {limit_mb} MiB 限额；被终止：{comm}。",
        ),
        measure=of.OOM_KILLS,
        op=">",
        levels=(("critical", Limit("kills", 0.0, "a kill is never normal; the kernel counts and logs each")),),
        grade=Grade.DIRECT,
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
        says=Text("{container}: OOMKilled, exit code {exit_code}.", "{container}：OOMKilled，退出码 {exit_code}。"),
        measure=of.CONTAINER_OOM,
        op="==",
        levels=(("critical", Limit("told", 1.0, "State.OOMKilled of docker and podman, reason of CRI")),),
        grade=Grade.CORRELATIONAL,
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
        says=Text("Exit code {value} is 128 + 9: somebody sent SIGKILL.", "退出码 {value} 即 128 + 9：收到了 SIGKILL。"),
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
        says=Text("{value} kills since the group was made, none now.", "自控制组创建以来 {value} 次，本次没有。"),
        measure=of.OOM_KILLS_BEFORE,
        op=">",
        levels=(("info", Limit("kills", 0.0, "counter since the group was made")),),
        grade=Grade.CONTEXT,
        source="memory.events oom_kill without growth says nothing of now",
    ),
    Rule(
        id="F-MEM-OOM-HOST",
        title=Text("The host ran out of memory", "主机内存耗尽"),
        says=Text("The kernel killed {comm} ({pid}): no memory left on the host.", "内核终止了 {comm}（{pid}）：主机无可用内存。"),
        measure=of.HOST_OOM_KILLS,
        op=">",
        levels=(("critical", Limit("kills", 0.0, "CONSTRAINT_NONE in the kernel's log")),),
        grade=Grade.DIRECT,
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
            "A JVM was killed holding {anon_mb} MiB of a limit of {limit_mb} MiB: its heap is not kept below the limit.",
            "被终止的 JVM 占用 {anon_mb} MiB，限额为 {limit_mb} MiB：堆未被限制在限额之内。",
        ),
        measure=of.JVM_AT_LIMIT,
        op=">=",
        levels=(("critical", Limit("share", 75.0, "what is left to others in the group cannot have filled it")),),
        grade=Grade.MECHANISM,
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
        measure=of.HEAP_OF_LIMIT,
        op=">",
        levels=(
            ("warn", Limit("warn", 75.0, "metaspace, code cache, threads and buffers need the rest")),
            ("critical", Limit("critical", 100.0, "the heap alone does not fit")),
        ),
        also=(
            AnyOf(
                (
                    Condition(of.OOM_KILLS, ">", Limit("kills", 0.0, "it has hurt")),
                    Condition(of.USAGE, ">", Limit("usage", 90.0, "Netdata: cgroup memory 90 %")),
                )
            ),
        ),
        grade=Grade.DIRECT,
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
        measure=of.HEAP_OF_LIMIT,
        op="<=",
        levels=(("info", Limit("share", 75.0, "heap at most 75 % of the limit")),),
        grade=Grade.CONTEXT,
        source="takes the word away from a kill of that JVM: what grew was not the heap",
    ),
)

_REREAD = (
    Rule(
        id="F-MEM-REFAULT-CGROUP",
        title=Text("The working set does not fit into the limit", "工作集超出限额"),
        says=Text(
            "{cgroup} reads {value} pages a second again that were just evicted, at its limit of {limit_mb} MiB.",
            "{cgroup} 每秒重读 {value} 个刚被逐出的页，已达 {limit_mb} MiB 限额。",
        ),
        measure=of.REFAULTS,
        op=">",
        levels=(
            ("warn", Limit("warn", 100.0, "0.4 MB/s of rereading")),
            ("critical", Limit("critical", 2500.0, "10 MB/s of rereading")),
        ),
        also=(
            Condition(of.USAGE, ">", Limit("usage", 95.0, "reclaim works at the limit")),
            Condition(
                of.FAULT_WAITS, ">=", Limit("waiting", 0.3, "a third of a thread stands still, of one with major faults")
            ),
            AnyOf(
                (
                    Condition(of.GROUP_FAULTS, ">", Limit("faults", 50.0, "node_exporter: 500 a host; a group has less")),
                    Condition(
                        of.KB_PER_FAULT, ">", Limit("kb_per_fault", 64.0, "much read-ahead: few faults, much reading")
                    ),
                )
            ),
        ),
        grade=Grade.MECHANISM,
        causes=("major-fault-thrashing",),
        refutes=("major-fault-thrashing",),
        traps=Text(
            "A streaming reader at its limit reads again as well, without major faults and with nobody waiting.",
            "到达限额的顺序读取也会重读，但没有主缺页，也无人等待。",
        ),
        source="memory.stat workingset_refault_file, pgmajfault; the rate of faults depends on read_ahead_kb",
    ),
    Rule(
        id="F-MEM-REFAULT-HOST",
        title=Text("The working set does not fit into memory", "工作集超出内存"),
        says=Text("{value} pages a second are read again soon after their eviction.", "每秒 {value} 个页在逐出后不久被重读。"),
        measure=Over("mem.refault_per_s", "held"),
        op=">",
        levels=(("critical", Limit("critical", 2500.0, "10 MB/s of rereading")),),
        also=(
            Condition(Over("mem.available_pct", "held_below"), "<", Limit("available", 10.0, "the host itself is short")),
            Condition(Over("mem.pgmajfault_per_s", "held"), ">", Limit("faults", 50.0, "a tenth of node_exporter's 500")),
            Condition(Over("mem.pswpin_per_s", "held"), "<", Limit("swap_in", 5.0, "else it is swap that thrashes")),
        ),
        grade=Grade.MECHANISM,
        causes=("major-fault-thrashing",),
        source="vmstat workingset_refault, pgmajfault",
    ),
    Rule(
        id="F-MEM-MAJFAULT",
        title=Text("Many major faults", "主缺页过多"),
        says=Text("{value} page faults a second had to read from a disk.", "每秒 {value} 次缺页需读盘。"),
        measure=Over("mem.pgmajfault_per_s", "mean"),
        op=">",
        levels=(("warn", Limit("warn", 500.0, "node_exporter mixin: 500/s")),),
        grade=Grade.CORRELATIONAL,
        causes=("major-fault-thrashing",),
        traps=Text(
            "Starting programs and first scans of mapped files fault as well; with much read-ahead few faults read much.",
            "程序启动与首次扫描映射文件也会缺页；预读大时少量缺页即读很多。",
        ),
        source="vmstat pgmajfault",
    ),
    Rule(
        id="F-MEM-MAJFAULT-PROCESS",
        title=Text("A process with many major faults", "进程主缺页过多"),
        says=Text("{comm} ({pid}): {value} major faults a second.", "{comm}（{pid}）：每秒 {value} 次主缺页。"),
        measure=of.PROCESS_FAULTS,
        op=">",
        levels=(("warn", Limit("warn", 500.0, "a case study: 1100/s ill, 200/s well, at 1000 requests/s")),),
        grade=Grade.CORRELATIONAL,
        causes=("major-fault-thrashing",),
        source="majflt of /proc/PID/stat, or perf stat -e major-faults",
    ),
)

_SHORT = (
    Rule(
        id="F-MEM-AVAILABLE",
        title=Text("Little memory is available", "可用内存少"),
        says=Text("{value} % of memory is available.", "可用内存 {value}%。"),
        measure=Over("mem.available_pct", "held_below"),
        op="<",
        levels=(
            ("warn", Limit("warn", 10.0, "Netdata: 10 %")),
            ("critical", Limit("critical", 5.0, "Netdata: 5 %")),
        ),
        grade=Grade.CONTEXT,
        traps=Text("ZFS ARC and reserved huge pages count as used.", "ZFS ARC 与预留大页计为已用。"),
        source="MemAvailable; being nearly full hurts nobody until something waits",
    ),
    Rule(
        id="F-MEM-SWAP",
        title=Text("Pages are swapped out", "正在换出"),
        says=Text("{value} pages a second go to swap.", "每秒换出 {value} 页。"),
        measure=Over("mem.pswpout_per_s", "held"),
        op=">=",
        levels=(("warn", Limit("warn", 5.0, "PCP pmie: 5 pages/s in 30 % of 10 samples; here in 60 %")),),
        grade=Grade.CORRELATIONAL,
        causes=("swap-thrashing",),
        refutes=("swap-thrashing",),
        traps=Text("zswap and zram swap out early, by design.", "zswap 与 zram 会按设计提前换出。"),
        source="vmstat pswpout",
    ),
    Rule(
        id="F-MEM-SWAP-THRASH",
        title=Text("What was swapped out is needed again", "换出的页又被换入"),
        says=Text("{value} pages a second come back from swap while others go out.", "每秒换入 {value} 页，同时还在换出。"),
        measure=Over("mem.pswpin_per_s", "held"),
        op=">=",
        levels=(
            ("warn", Limit("warn", 50.0, "0.2 MB/s: fifty waits a second for a page that was thrown out")),
            ("critical", Limit("critical", 1000.0, "4 MB/s")),
        ),
        also=(
            Condition(Over("mem.pswpout_per_s", "held"), ">=", Limit("out", 50.0, "both ways: nothing settles")),
            Condition(Over("mem.pgmajfault_per_s", "held"), ">=", Limit("faults", 10.0, "somebody waits for them")),
        ),
        grade=Grade.MECHANISM,
        causes=("swap-thrashing",),
        source="vmstat pswpin and pswpout at once",
    ),
    Rule(
        id="F-MEM-PSI",
        title=Text("Everybody waits for memory", "内存压力"),
        says=Text("{value} % of the time all tasks waited for memory.", "{value}% 的时间里所有任务都在等待内存。"),
        measure=Over("psi.full_pct", "mean", {}, "memory"),
        op=">",
        levels=(
            ("warn", Limit("warn", 10.0, "own; there are no official thresholds")),
            ("critical", Limit("critical", 40.0, "own; there are no official thresholds")),
        ),
        grade=Grade.CORRELATIONAL,
        causes=("major-fault-thrashing", "swap-thrashing"),
        traps=Text("Absent before 4.20 and with psi=0.", "4.20 之前或 psi=0 时没有。"),
        source="/proc/pressure/memory",
    ),
    Rule(
        id="F-MEM-PSI-CGROUP",
        title=Text("A control group waits for memory", "控制组内存压力"),
        says=Text("{cgroup}: all tasks waited {value} % of ten seconds.", "{cgroup}：10 秒内 {value}% 的时间全部受阻。"),
        measure=of.GROUP_PRESSURE,
        op=">",
        levels=(
            ("warn", Limit("warn", 10.0, "own; there are no official thresholds")),
            ("critical", Limit("critical", 40.0, "own; there are no official thresholds")),
        ),
        also=(Condition(of.GROUP_FAULTS, ">", Limit("faults", 10.0, "it reads from the disk what it had")),),
        grade=Grade.CORRELATIONAL,
        causes=("major-fault-thrashing",),
        source="memory.pressure full avg10",
    ),
    Rule(
        id="F-MEM-ANON-SHARE",
        title=Text("The limit is full of anonymous memory", "限额被匿名内存占满"),
        says=Text("{value} % of the limit of {cgroup} is anonymous memory.", "{cgroup} 限额的 {value}% 为匿名内存。"),
        measure=of.ANON,
        op=">=",
        levels=(("info", Limit("share", 80.0, "what is left for files hardly matters")),),
        grade=Grade.CONTEXT,
        source="memory.stat anon (rss on v1): allocated, not cache",
    ),
    Rule(
        id="F-MEM-GROWTH",
        title=Text("A process grows without a pause", "进程内存持续增长"),
        says=Text(
            "{comm} ({pid}) grows by {value} MiB of anonymous memory a second, at every look.",
            "{comm}（{pid}）的匿名内存每秒增长 {value} MiB，每次读取都在增长。",
        ),
        measure=of.GROWTH,
        op=">",
        levels=(("warn", Limit("warn", 0.5, "2 GB an hour")),),
        grade=Grade.CORRELATIONAL,
        causes=("memory-leak",),
        refutes=("memory-leak",),
        traps=Text(
            "Seconds cannot tell a leak from a cache that fills or a program that starts: look again in an hour.",
            "数秒无法区分泄漏、缓存填充与程序启动：请一小时后再看。",
        ),
        source="RssAnon of /proc/PID/status; never more than correlational",
    ),
    Rule(
        id="F-MEM-SWAPPED-PROCESS",
        title=Text("A process is swapped out in part", "进程部分被换出"),
        says=Text("{comm} has {value} KiB in swap.", "{comm} 有 {value} KiB 在交换区。"),
        measure=of.SWAPPED,
        op=">",
        levels=(("info", Limit("swapped", 102400.0, "100 MiB")),),
        grade=Grade.CONTEXT,
        source="VmSwap; what lies in swap and is not asked for hurts nobody",
    ),
)

RULES: tuple[Rule, ...] = (*_KILLS, *_REREAD, *_SHORT)
