"""Rules about memory shortage: limits below the working set, swapping, pressure, growth."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.memory import shortage
from culprit.domain.rules.measures.memory.growth import BY_NOW, GROWTH, LASTS, STEPS
from culprit.domain.rules.rule import AnyCondition, Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

#: What gains less than a tenth is not why something is slow (Amdahl).
TENTH = 10.0

_REREAD = (
    Rule(
        id="F-MEM-REFAULT-CGROUP",
        title=Text("The working set exceeds the limit", "工作集超出限额"),
        summary=Text(
            "{value} % of what {cgroup} reads was in memory before ({pages} pages a second). "
            "Its limit of {limit_mb} MiB is reached.",
            "{cgroup} 读取的 {value}% 此前已在内存中（每秒 {pages} 页），已达到 {limit_mb} MiB 限额。",
        ),
        measure=shortage.READ_AGAIN,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 50.0, "most of what is read was in memory shortly before")),
            ("critical", Threshold("critical", 90.0, "hardly anything else is read")),
        ),
        also=(
            Condition(shortage.USAGE, ">", Threshold("usage", 95.0, "reclaim works at the limit")),
            Condition(
                shortage.GROUP_FAULTS,
                ">=",
                Threshold("faults", 1.0, "without page faults that read, threads wait in read() instead"),
            ),
            AnyCondition(
                (
                    Condition(
                        shortage.GROUP_BLOCKED,
                        ">=",
                        Threshold("waiting", 0.1, "with fewer, no thread lost a tenth of its time"),
                    ),
                    Condition(
                        shortage.GROUP_PRESSURE,
                        ">",
                        Threshold("pressure", TENTH, "all tasks of the group wait for a tenth of the time"),
                    ),
                )
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        suspects=("major-fault-thrashing",),
        causes=("major-fault-thrashing",),
        refutes=("major-fault-thrashing",),
        caveats=Text(
            "A job that maps files larger than its limit and reads them in turn does so as well.",
            "依次访问大于限额的映射文件的任务同样如此。",
        ),
        source="memory.stat workingset_refault_file against read_bytes of /proc/PID/io",
    ),
    Rule(
        id="F-MEM-REFAULT-HOST",
        title=Text("The working set exceeds the memory", "工作集超出内存"),
        summary=Text(
            "{value} % of what devices read was in memory before ({pages} pages a second).",
            "设备读取的 {value}% 此前已在内存中（每秒 {pages} 页）。",
        ),
        measure=shortage.HOST_READ_AGAIN,
        op=">",
        thresholds=(
            ("critical", Threshold("critical", 50.0, "most of what is read was in memory shortly before")),
        ),
        also=(
            Condition(
                MetricReading("mem.available_pct", "held_below"),
                "<",
                Threshold("available", 10.0, "the host itself has little memory (Netdata)"),
            ),
            AnyCondition(
                (
                    Condition(
                        shortage.FAULT_TIME,
                        ">",
                        Threshold("faults", TENTH, "a tenth of the time of tasks that are active"),
                    ),
                    Condition(
                        MetricReading("psi.some_pct", "mean", {"resource": "memory"}),
                        ">",
                        Threshold("pressure", TENTH, "tasks wait for memory for a tenth of the time"),
                    ),
                )
            ),
            Condition(
                shortage.SWAP_OF_REFAULTS,
                "<",
                Threshold("swap_in", 100.0, "otherwise more pages come from swap than from files"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        causes=("major-fault-thrashing",),
        source="vmstat workingset_refault, pgmajfault",
    ),
    Rule(
        id="F-MEM-MAJFAULT",
        title=Text("Many major faults", "主缺页过多"),
        summary=Text(
            "{faults} page faults a second read from a disk, {read_ms} ms each: {value} % of the time of active tasks.",
            "每秒 {faults} 次缺页需读盘，每次 {read_ms} 毫秒，占活动任务 {value}% 的时间。",
        ),
        measure=shortage.FAULT_TIME,
        op=">",
        thresholds=(("warn", Threshold("warn", TENTH, "a tenth of the time of tasks that are active")),),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "saturation"),
        suspects=("major-fault-thrashing",),
        related=(MetricReading("mem.available_pct", "min"), MetricReading("mem.refault_per_s", "mean")),
        causes=("major-fault-thrashing",),
        caveats=Text(
            "Program starts and first scans of mapped files also fault. With read-ahead, few "
            "faults read many bytes.",
            "程序启动与首次扫描映射文件也会缺页；预读大时少量缺页即读很多。",
        ),
        source="vmstat pgmajfault, times the duration of a read in /proc/diskstats",
    ),
    Rule(
        id="F-MEM-MAJFAULT-PROCESS",
        title=Text("A process with many major faults", "进程主缺页过多"),
        summary=Text(
            "{comm} ({pid}) waits for {faults} major faults a second, {value} % of the time of its active threads.",
            "{comm}（{pid}）每秒等待 {faults} 次主缺页，占其活动线程 {value}% 的时间。",
        ),
        measure=shortage.PROCESS_FAULT_TIME,
        op=">",
        thresholds=(("warn", Threshold("warn", TENTH, "a tenth of the time of tasks that are active")),),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "saturation"),
        suspects=("major-fault-thrashing",),
        related=(MetricReading("mem.pgmajfault_per_s", "mean"), MetricReading("mem.available_pct", "min")),
        causes=("major-fault-thrashing",),
        source="majflt of /proc/PID/stat, or perf stat -e major-faults",
    ),
)

_SHORT = (
    Rule(
        id="F-MEM-AVAILABLE",
        title=Text("Little memory is available", "可用内存少"),
        summary=Text("{value} % of memory is available.", "可用内存 {value}%。"),
        measure=MetricReading("mem.available_pct", "held_below"),
        op="<",
        thresholds=(
            ("warn", Threshold("warn", 10.0, "Netdata: 10 %")),
            ("critical", Threshold("critical", 5.0, "Netdata: 5 %")),
        ),
        strength=Strength.CONTEXT,
        use=Use("memory", "utilization"),
        caveats=Text("ZFS ARC and reserved huge pages count as used.", "ZFS ARC 与预留大页计为已用。"),
        source="MemAvailable; a nearly full memory has no effect until a thread waits",
    ),
    Rule(
        id="F-MEM-SWAP",
        title=Text("Pages are swapped out", "正在换出"),
        summary=Text("{value} pages a second are written to swap.", "每秒换出 {value} 页。"),
        measure=MetricReading("mem.pswpout_per_s", "held"),
        op=">",
        thresholds=(("info", Threshold("info", 0.0, "any page, most of the time")),),
        strength=Strength.CONTEXT,
        use=Use("memory", "saturation"),
        suspects=("swap-thrashing",),
        caveats=Text("zswap and zram swap out early by design.", "zswap 与 zram 会按设计提前换出。"),
        source="vmstat pswpout: pages that are not needed again have no effect",
    ),
    Rule(
        id="F-MEM-SWAP-THRASH",
        title=Text("Swapped-out pages are needed again", "换出的页又被换入"),
        summary=Text(
            "{pages} pages a second come from swap, and waiting for them takes {value} % of the time of active tasks.",
            "每秒换入 {pages} 页，等待占活动任务 {value}% 的时间。",
        ),
        measure=shortage.SWAP_TIME,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", TENTH, "a tenth of the time of tasks that are active")),
            ("critical", Threshold("critical", 50.0, "most of the time of tasks that are active")),
        ),
        also=(
            AnyCondition(
                (
                    Condition(
                        shortage.SWAP_BALANCE,
                        ">=",
                        Threshold(
                            "out", 50.0, "for two pages that come, one goes: the system does not settle"
                        ),
                    ),
                    Condition(
                        shortage.SWAP_SETTLES,
                        "<",
                        Threshold("settles", 50.0, "a program that wakes up keeps all its pages"),
                    ),
                )
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        suspects=("swap-thrashing",),
        related=(
            MetricReading("mem.pswpin_per_s", "held"),
            MetricReading("mem.available_pct", "min"),
            MetricReading("mem.swap_used_kb", "last"),
        ),
        causes=("swap-thrashing",),
        refutes=("swap-thrashing",),
        source="vmstat pswpin with pswpout, or with VmSwap of /proc/PID/status that does not decrease",
    ),
    Rule(
        id="F-MEM-PSI",
        title=Text("All tasks wait for memory", "内存压力"),
        summary=Text(
            "All tasks waited for memory {value} % of the time.", "{value}% 的时间里所有任务都在等待内存。"
        ),
        measure=MetricReading("psi.full_pct", "mean", {"resource": "memory"}),
        op=">",
        thresholds=(
            ("warn", Threshold("warn", TENTH, "a tenth of the time is lost (Amdahl)")),
            ("critical", Threshold("critical", 50.0, "most of the time is lost")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "saturation"),
        related=(
            MetricReading("mem.available_pct", "min"),
            MetricReading("mem.pgmajfault_per_s", "mean"),
            MetricReading("mem.refault_per_s", "mean"),
        ),
        causes=("major-fault-thrashing",),
        harm=True,
        caveats=Text(
            "Not available before kernel 4.20 and with psi=0.", "4.20 之前的内核或 psi=0 时不可用。"
        ),
        source="/proc/pressure/memory",
    ),
    Rule(
        id="F-MEM-PSI-CGROUP",
        title=Text("A control group waits for memory", "控制组内存压力"),
        summary=Text(
            "{cgroup}: all tasks waited {value} % of ten seconds.",
            "{cgroup}：10 秒内 {value}% 的时间全部受阻。",
        ),
        measure=shortage.GROUP_PRESSURE,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", TENTH, "a tenth of the time is lost (Amdahl)")),
            ("critical", Threshold("critical", 50.0, "most of the time is lost")),
        ),
        also=(
            AnyCondition(
                (
                    Condition(
                        shortage.REFAULTS,
                        ">",
                        Threshold("refaults", 0.0, "it reads what was in memory before"),
                    ),
                    Condition(
                        shortage.GROUP_FAULTS, ">", Threshold("faults", 0.0, "it waits for pages from a disk")
                    ),
                )
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "saturation"),
        suspects=("major-fault-thrashing",),
        related=(shortage.USAGE, shortage.READ_AGAIN),
        causes=("major-fault-thrashing",),
        harm=True,
        source="memory.pressure full avg10",
    ),
    Rule(
        id="F-MEM-ANON-SHARE",
        title=Text("The limit is full of anonymous memory", "限额被匿名内存占满"),
        summary=Text(
            "{value} % of the limit of {cgroup} is anonymous memory.", "{cgroup} 限额的 {value}% 为匿名内存。"
        ),
        measure=shortage.ANON,
        op=">=",
        thresholds=(("info", Threshold("share", 80.0, "the rest for files is negligible")),),
        strength=Strength.CONTEXT,
        use=Use("memory", "utilization"),
        source="memory.stat anon (rss on v1): allocated, not cache",
    ),
    Rule(
        id="F-MEM-GROWTH",
        title=Text("A process grows continuously", "进程内存持续增长"),
        summary=Text(
            "Anonymous memory of {comm} ({pid}) grows by {mb_per_s} MiB a second, in every sample. "
            "At this pace, memory is used up in {value} minutes.",
            "{comm}（{pid}）的匿名内存每秒增长 {mb_per_s} MiB，每次读取都在增长；照此速度 {value} 分钟后内存耗尽。",
        ),
        measure=LASTS,
        op="<",
        thresholds=(
            ("warn", Threshold("warn", 1440.0, "node_exporter mixin for disks that fill up: 24 hours")),
            ("critical", Threshold("critical", 240.0, "node_exporter mixin for disks that fill up: 4 hours")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "utilization"),
        suspects=("memory-leak",),
        related=(BY_NOW, GROWTH, STEPS),
        causes=("memory-leak",),
        refutes=("memory-leak",),
        caveats=Text(
            "A few seconds cannot distinguish a leak from a cache that fills or a program that "
            "starts. Check again in an hour.",
            "数秒无法区分泄漏、缓存填充与程序启动：请一小时后再看。",
        ),
        source="RssAnon of /proc/PID/status; never more than correlational",
    ),
    Rule(
        id="F-MEM-SWAPPED-PROCESS",
        title=Text("A process is partly swapped out", "进程部分被换出"),
        summary=Text(
            "{value} % of the memory of {comm} is in swap ({swap_mb} MiB).",
            "{comm} 的内存有 {value}% 在交换区（{swap_mb} MiB）。",
        ),
        measure=shortage.SWAPPED,
        op=">",
        thresholds=(("info", Threshold("swapped", 50.0, "most of its memory")),),
        strength=Strength.CONTEXT,
        use=Use("memory", "saturation"),
        source="VmSwap; swapped-out pages that are not needed have no effect",
    ),
)

RULES: tuple[Rule, ...] = (*_REREAD, *_SHORT)
