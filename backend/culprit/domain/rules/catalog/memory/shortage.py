"""Rules about memory shortage: limits below the working set, swapping, pressure, growth."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.memory import shortage
from culprit.domain.rules.measures.memory.growth import BY_NOW, GROWTH, LASTS, STEPS
from culprit.domain.rules.rule import AnyCondition, Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_REREAD = (
    Rule(
        id="F-MEM-REFAULT-CGROUP",
        title=Text("The working set exceeds the limit", "工作集超出限额"),
        summary=Text(
            "{cgroup} reads {value} recently evicted pages a second again. Its limit of "
            "{limit_mb} MiB is reached.",
            "{cgroup} 每秒重读 {value} 个刚被逐出的页，已达到 {limit_mb} MiB 限额。",
        ),
        measure=shortage.REFAULTS,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 100.0, "0.4 MB/s of repeated reads")),
            ("critical", Threshold("critical", 2500.0, "10 MB/s of repeated reads")),
        ),
        also=(
            Condition(shortage.USAGE, ">", Threshold("usage", 95.0, "reclaim works at the limit")),
            Condition(
                shortage.FAULT_WAITS,
                ">=",
                Threshold("waiting", 0.3, "a third of a thread waits, or a thread with major faults"),
            ),
            AnyCondition(
                (
                    Condition(
                        shortage.GROUP_FAULTS,
                        ">",
                        Threshold("faults", 50.0, "node_exporter: 500 per host; a group has less"),
                    ),
                    Condition(
                        shortage.KB_PER_FAULT,
                        ">",
                        Threshold("kb_per_fault", 64.0, "large read-ahead: few faults, many bytes"),
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
            "A streaming reader at its limit also reads pages again, without major faults and "
            "without waiting threads.",
            "达到限额的顺序读取也会重读，但没有主缺页，也没有线程等待。",
        ),
        source="memory.stat workingset_refault_file, pgmajfault; the fault rate depends on read_ahead_kb",
    ),
    Rule(
        id="F-MEM-REFAULT-HOST",
        title=Text("The working set exceeds the memory", "工作集超出内存"),
        summary=Text(
            "{value} pages a second are read again soon after they were evicted.",
            "每秒 {value} 个页在逐出后不久被重读。",
        ),
        measure=MetricReading("mem.refault_per_s", "held"),
        op=">",
        thresholds=(("critical", Threshold("critical", 2500.0, "10 MB/s of repeated reads")),),
        also=(
            Condition(
                MetricReading("mem.available_pct", "held_below"),
                "<",
                Threshold("available", 10.0, "the host itself has little memory"),
            ),
            Condition(
                MetricReading("mem.pgmajfault_per_s", "held"),
                ">",
                Threshold("faults", 50.0, "a tenth of the 500 of node_exporter"),
            ),
            Condition(
                MetricReading("mem.pswpin_per_s", "held"),
                "<",
                Threshold("swap_in", 5.0, "otherwise swap is thrashing"),
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
        summary=Text("{value} page faults a second read from a disk.", "每秒 {value} 次缺页需读盘。"),
        measure=MetricReading("mem.pgmajfault_per_s", "mean"),
        op=">",
        thresholds=(("warn", Threshold("warn", 500.0, "node_exporter mixin: 500/s")),),
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
        source="vmstat pgmajfault",
    ),
    Rule(
        id="F-MEM-MAJFAULT-PROCESS",
        title=Text("A process with many major faults", "进程主缺页过多"),
        summary=Text(
            "{comm} ({pid}): {value} major faults a second.", "{comm}（{pid}）：每秒 {value} 次主缺页。"
        ),
        measure=shortage.PROCESS_FAULTS,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold("warn", 500.0, "a case study: 1100/s faulty, 200/s healthy, at 1000 requests/s"),
            ),
        ),
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
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 5.0, "PCP pmie: 5 pages/s in 30 % of 10 samples; here in 60 %")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "saturation"),
        suspects=("swap-thrashing",),
        related=(
            MetricReading("mem.pswpin_per_s", "held"),
            MetricReading("mem.available_pct", "min"),
            MetricReading("mem.swap_used_kb", "last"),
        ),
        causes=("swap-thrashing",),
        refutes=("swap-thrashing",),
        caveats=Text("zswap and zram swap out early by design.", "zswap 与 zram 会按设计提前换出。"),
        source="vmstat pswpout",
    ),
    Rule(
        id="F-MEM-SWAP-THRASH",
        title=Text("Swapped-out pages are needed again", "换出的页又被换入"),
        summary=Text(
            "{value} pages a second are read from swap, and as many are written to it.",
            "每秒换入 {value} 页，又换出同样多的页。",
        ),
        measure=MetricReading("mem.pswpin_per_s", "held"),
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold("warn", 50.0, "0.2 MB/s: fifty waits a second for an evicted page"),
            ),
            ("critical", Threshold("critical", 1000.0, "4 MB/s")),
        ),
        also=(
            AnyCondition(
                (
                    Condition(
                        MetricReading("mem.pswpout_per_s", "held"),
                        ">=",
                        Threshold("out", 50.0, "both directions: the system does not settle"),
                    ),
                    Condition(
                        shortage.SWAP_SETTLES,
                        "<",
                        Threshold("settles", 50.0, "a program that wakes up keeps all its pages"),
                    ),
                )
            ),
            Condition(
                MetricReading("mem.pgmajfault_per_s", "held"),
                ">=",
                Threshold("faults", 10.0, "threads wait for them"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        causes=("swap-thrashing",),
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
            ("warn", Threshold("warn", 10.0, "estimate; there are no official thresholds")),
            ("critical", Threshold("critical", 40.0, "estimate; there are no official thresholds")),
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
            ("warn", Threshold("warn", 10.0, "estimate; there are no official thresholds")),
            ("critical", Threshold("critical", 40.0, "estimate; there are no official thresholds")),
        ),
        also=(
            Condition(
                shortage.GROUP_FAULTS,
                ">",
                Threshold("faults", 10.0, "it reads data from the disk that was in memory before"),
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "saturation"),
        suspects=("major-fault-thrashing",),
        related=(shortage.USAGE, shortage.REFAULTS),
        causes=("major-fault-thrashing",),
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
            "Anonymous memory of {comm} ({pid}) grows by {value} MiB a second, in every sample.",
            "{comm}（{pid}）的匿名内存每秒增长 {value} MiB，每次读取都在增长。",
        ),
        measure=GROWTH,
        op=">",
        thresholds=(("warn", Threshold("warn", 0.5, "2 GB an hour")),),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "utilization"),
        suspects=("memory-leak",),
        related=(BY_NOW, LASTS, STEPS),
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
        summary=Text("{comm} has {value} KiB in swap.", "{comm} 有 {value} KiB 在交换区。"),
        measure=shortage.SWAPPED,
        op=">",
        thresholds=(("info", Threshold("swapped", 102400.0, "100 MiB")),),
        strength=Strength.CONTEXT,
        use=Use("memory", "saturation"),
        source="VmSwap; swapped-out pages that are not needed have no effect",
    ),
)

RULES: tuple[Rule, ...] = (*_REREAD, *_SHORT)
