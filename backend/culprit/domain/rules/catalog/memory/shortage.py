"""Rules about memory that is short: limits below the working set, swapping, pressure, growth."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import AnyOf, Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures import memory as of
from culprit.core.rules.measures.memory_growth import BY_NOW, GROWTH, LASTS, STEPS

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
                of.FAULT_WAITS,
                ">=",
                Limit("waiting", 0.3, "a third of a thread stands still, of one with major faults"),
            ),
            AnyOf(
                (
                    Condition(
                        of.GROUP_FAULTS,
                        ">",
                        Limit("faults", 50.0, "node_exporter: 500 a host; a group has less"),
                    ),
                    Condition(
                        of.KB_PER_FAULT,
                        ">",
                        Limit("kb_per_fault", 64.0, "much read-ahead: few faults, much reading"),
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
        says=Text(
            "{value} pages a second are read again soon after their eviction.",
            "每秒 {value} 个页在逐出后不久被重读。",
        ),
        measure=Over("mem.refault_per_s", "held"),
        op=">",
        levels=(("critical", Limit("critical", 2500.0, "10 MB/s of rereading")),),
        also=(
            Condition(
                Over("mem.available_pct", "held_below"),
                "<",
                Limit("available", 10.0, "the host itself is short"),
            ),
            Condition(
                Over("mem.pgmajfault_per_s", "held"),
                ">",
                Limit("faults", 50.0, "a tenth of node_exporter's 500"),
            ),
            Condition(
                Over("mem.pswpin_per_s", "held"), "<", Limit("swap_in", 5.0, "else it is swap that thrashes")
            ),
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
        beside=(Over("mem.available_pct", "min"), Over("mem.refault_per_s", "mean")),
        causes=("major-fault-thrashing",),
        traps=Text(
            "Starting programs and first scans of mapped files fault as well; with read-ahead few faults read much.",
            "程序启动与首次扫描映射文件也会缺页；预读大时少量缺页即读很多。",
        ),
        source="vmstat pgmajfault",
    ),
    Rule(
        id="F-MEM-MAJFAULT-PROCESS",
        title=Text("A process with many major faults", "进程主缺页过多"),
        says=Text(
            "{comm} ({pid}): {value} major faults a second.", "{comm}（{pid}）：每秒 {value} 次主缺页。"
        ),
        measure=of.PROCESS_FAULTS,
        op=">",
        levels=(("warn", Limit("warn", 500.0, "a case study: 1100/s ill, 200/s well, at 1000 requests/s")),),
        grade=Grade.CORRELATIONAL,
        beside=(Over("mem.pgmajfault_per_s", "mean"), Over("mem.available_pct", "min")),
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
        beside=(
            Over("mem.pswpin_per_s", "held"),
            Over("mem.available_pct", "min"),
            Over("mem.swap_used_kb", "last"),
        ),
        causes=("swap-thrashing",),
        refutes=("swap-thrashing",),
        traps=Text("zswap and zram swap out early, by design.", "zswap 与 zram 会按设计提前换出。"),
        source="vmstat pswpout",
    ),
    Rule(
        id="F-MEM-SWAP-THRASH",
        title=Text("What was swapped out is needed again", "换出的页又被换入"),
        says=Text(
            "{value} pages a second come back from swap, and as many leave memory for it.",
            "每秒换入 {value} 页，又有同样多的页离开内存。",
        ),
        measure=Over("mem.pswpin_per_s", "held"),
        op=">=",
        levels=(
            ("warn", Limit("warn", 50.0, "0.2 MB/s: fifty waits a second for a page that was thrown out")),
            ("critical", Limit("critical", 1000.0, "4 MB/s")),
        ),
        also=(
            AnyOf(
                (
                    Condition(
                        Over("mem.pswpout_per_s", "held"),
                        ">=",
                        Limit("out", 50.0, "both ways: nothing settles"),
                    ),
                    Condition(
                        of.SWAP_SETTLES, "<", Limit("settles", 50.0, "a program that wakes up keeps all")
                    ),
                )
            ),
            Condition(
                Over("mem.pgmajfault_per_s", "held"), ">=", Limit("faults", 10.0, "somebody waits for them")
            ),
        ),
        grade=Grade.MECHANISM,
        causes=("swap-thrashing",),
        source="vmstat pswpin with pswpout, or with VmSwap of /proc/PID/status that does not fall",
    ),
    Rule(
        id="F-MEM-PSI",
        title=Text("Everybody waits for memory", "内存压力"),
        says=Text(
            "{value} % of the time all tasks waited for memory.", "{value}% 的时间里所有任务都在等待内存。"
        ),
        measure=Over("psi.full_pct", "mean", {"resource": "memory"}),
        op=">",
        levels=(
            ("warn", Limit("warn", 10.0, "own; there are no official thresholds")),
            ("critical", Limit("critical", 40.0, "own; there are no official thresholds")),
        ),
        grade=Grade.CORRELATIONAL,
        beside=(
            Over("mem.available_pct", "min"),
            Over("mem.pgmajfault_per_s", "mean"),
            Over("mem.refault_per_s", "mean"),
        ),
        causes=("major-fault-thrashing",),
        traps=Text("Absent before 4.20 and with psi=0.", "4.20 之前或 psi=0 时没有。"),
        source="/proc/pressure/memory",
    ),
    Rule(
        id="F-MEM-PSI-CGROUP",
        title=Text("A control group waits for memory", "控制组内存压力"),
        says=Text(
            "{cgroup}: all tasks waited {value} % of ten seconds.",
            "{cgroup}：10 秒内 {value}% 的时间全部受阻。",
        ),
        measure=of.GROUP_PRESSURE,
        op=">",
        levels=(
            ("warn", Limit("warn", 10.0, "own; there are no official thresholds")),
            ("critical", Limit("critical", 40.0, "own; there are no official thresholds")),
        ),
        also=(Condition(of.GROUP_FAULTS, ">", Limit("faults", 10.0, "it reads from the disk what it had")),),
        grade=Grade.CORRELATIONAL,
        beside=(of.USAGE, of.REFAULTS),
        causes=("major-fault-thrashing",),
        source="memory.pressure full avg10",
    ),
    Rule(
        id="F-MEM-ANON-SHARE",
        title=Text("The limit is full of anonymous memory", "限额被匿名内存占满"),
        says=Text(
            "{value} % of the limit of {cgroup} is anonymous memory.", "{cgroup} 限额的 {value}% 为匿名内存。"
        ),
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
        measure=GROWTH,
        op=">",
        levels=(("warn", Limit("warn", 0.5, "2 GB an hour")),),
        grade=Grade.CORRELATIONAL,
        beside=(BY_NOW, LASTS, STEPS),
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

RULES: tuple[Rule, ...] = (*_REREAD, *_SHORT)
