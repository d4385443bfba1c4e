"""Rules about what holds memory besides programs, and about stalls on the way to free memory."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.memory import holders, shortage
from culprit.domain.rules.rule import Condition, Measure, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_AVAILABLE = MetricReading("mem.available_pct", "held_below")
_SHORT = Condition(_AVAILABLE, "<", Threshold("available", 10.0, "Netdata: 10 %, as F-MEM-AVAILABLE"))
_MOST = Threshold("share", 50.0, "more than everything else together")
_THIRD = Threshold("share", 33.3, "of three parts, the largest is a third at least")
_STALLED = MetricReading("psi.some_pct", "mean", {"resource": "memory"})
_TENTH = Threshold("stalled", 10.0, "what takes less than a tenth of the time explains no slow service")


def _holder(  # noqa: PLR0917 - a table of rules reads better by position
    id: str, measure: Measure, cause: str, title: Text, summary: Text, caveats: Text | None = None
) -> Rule:
    """Return the rule that one use holds most of the memory that is taken, on a host that is short of it."""
    return Rule(
        id=id,
        title=title,
        summary=summary,
        measure=measure,
        op=">",
        thresholds=(("warn", _MOST),),
        also=(_SHORT,),
        strength=Strength.MECHANISM,
        use=Use("memory", "utilization"),
        related=(MetricReading("mem.available_kb"), MetricReading("mem.anon_kb")),
        causes=(cause,),
        refutes=(cause,),
        caveats=caveats,
        source="/proc/meminfo: this use against MemTotal - MemAvailable",
    )


_HOLDERS = (
    Rule(
        id="F-MEM-KERNEL-CGROUP",
        title=Text(
            "Kernel objects hold the largest part of the memory of a group", "内核对象占用控制组最大部分内存"
        ),
        summary=Text(
            "Kernel objects hold {held_mb} MiB of {cgroup}: {value} % of its full limit of {limit_mb} MiB.",
            "{cgroup} 中内核对象占 {held_mb} MiB，为其 {limit_mb} MiB 限额的 {value}%，且限额已用尽。",
        ),
        measure=holders.GROUP_KERNEL,
        op=">",
        thresholds=(("warn", _THIRD),),
        also=(
            Condition(
                holders.GROUP_KERNEL_LEAD, ">", Threshold("largest", 100.0, "the largest of the parts")
            ),
            Condition(shortage.USAGE, ">", Threshold("usage", 95.0, "reclaim works at the limit")),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "utilization"),
        causes=("slab-growth",),
        caveats=Text(
            "Inodes and directory entries are freed when memory is needed, unless their files are in memory.",
            "内存不足时会回收 inode 与目录项，除非文件本身就在内存中。",
        ),
        source="memory.stat: usage less anon and file (v2), less rss and cache (v1)",
    ),
    Rule(
        id="F-MEM-FILES-IN-GROUP",
        title=Text("Files in memory hold the largest part of a group", "内存文件占用控制组最大部分内存"),
        summary=Text(
            "tmpfs and shared memory hold {held_mb} MiB of {cgroup}: {value} % of its full limit of {limit_mb} MiB.",
            "{cgroup} 中 tmpfs 与共享内存占 {held_mb} MiB，为其 {limit_mb} MiB 限额的 {value}%，且限额已用尽。",
        ),
        measure=holders.GROUP_MEMORY_FILES,
        op=">",
        thresholds=(("warn", _THIRD),),
        also=(
            Condition(
                holders.GROUP_MEMORY_FILES_LEAD,
                ">",
                Threshold("largest", 100.0, "more than programs, and more than the cache of files"),
            ),
            Condition(shortage.USAGE, ">", Threshold("usage", 95.0, "reclaim works at the limit")),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "utilization"),
        causes=("memory-file-system-large",),
        caveats=Text(
            "The shared buffers of a database are shared memory: then they are too large for this limit.",
            "数据库的共享缓冲区属于共享内存：此时说明其对该限额而言过大。",
        ),
        source="memory.stat: shmem; without swap, reclaim can free none of it (Documentation/filesystems/tmpfs.rst)",
    ),
    _holder(
        "F-MEM-SLAB",
        holders.SLAB,
        "slab-growth",
        Text("Kernel objects hold most of the memory", "内核对象占用大部分内存"),
        Text(
            "Unreclaimable slab holds {held_mb} MiB: {value} % of the memory that is taken.",
            "不可回收的 slab 占 {held_mb} MiB，为已用内存的 {value}%。",
        ),
    ),
    _holder(
        "F-MEM-PAGE-TABLES",
        holders.PAGE_TABLES,
        "page-tables-large",
        Text("Page tables hold most of the memory", "页表占用大部分内存"),
        Text(
            "Page tables hold {held_mb} MiB: {value} % of the memory that is taken.",
            "页表占 {held_mb} MiB，为已用内存的 {value}%。",
        ),
    ),
    _holder(
        "F-MEM-FILES-IN-MEMORY",
        holders.MEMORY_FILES,
        "memory-file-system-large",
        Text("Files in memory hold most of the memory", "内存文件占用大部分内存"),
        Text(
            "tmpfs and shared memory hold {held_mb} MiB: {value} % of the memory that is taken ({mounts}).",
            "tmpfs 与共享内存占 {held_mb} MiB，为已用内存的 {value}%（{mounts}）。",
        ),
        Text(
            "The shared buffers of a database are shared memory and intended.",
            "数据库的共享缓冲区属于共享内存，是有意的。",
        ),
    ),
    _holder(
        "F-MEM-HUGE-PAGES-UNUSED",
        holders.UNUSED_HUGE_PAGES,
        "huge-pages-unused",
        Text("Reserved huge pages hold most of the memory", "预留的大页占用大部分内存"),
        Text(
            "Huge pages that no program uses hold {held_mb} MiB: {value} % of the memory that is taken.",
            "没有程序使用的大页占 {held_mb} MiB，为已用内存的 {value}%。",
        ),
    ),
)

_ENOUGH = Condition(
    MetricReading("mem.available_pct", "min"),
    ">=",
    Threshold("available", 10.0, "there is memory; F-MEM-AVAILABLE otherwise"),
)
_COMPACTS = Condition(
    MetricReading("mem.compact_stall_per_s", "mean"),
    ">",
    Threshold("stalls", 0.0, "an allocation stopped to move pages together"),
)
_THP = MetricReading("mem.thp_faults_per_s", "mean")

_STALLS = (
    Rule(
        id="F-MEM-DIRECT-RECLAIM",
        title=Text("Programs reclaim memory themselves", "程序自行回收内存"),
        summary=Text(
            "Tasks wait for memory {value} % of the time, and allocations reclaim pages themselves.",
            "任务有 {value}% 的时间在等待内存，且分配时自行回收页面。",
        ),
        measure=_STALLED,
        op=">=",
        thresholds=(("warn", _TENTH),),
        also=(
            Condition(
                MetricReading("mem.allocstall_per_s", "mean"),
                ">",
                Threshold("stalls", 0.0, "kswapd did not keep up, so an allocation had to reclaim"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        related=(MetricReading("mem.pgscan_direct_per_s"), _AVAILABLE),
        causes=("direct-reclaim-stall",),
        refutes=("direct-reclaim-stall",),
        harm=True,
        source="PSI memory some; allocstall of /proc/vmstat",
    ),
    Rule(
        id="F-MEM-FRAGMENTED",
        title=Text("Memory is fragmented", "内存碎片化"),
        summary=Text(
            "Tasks wait for memory {value} % of the time although there is memory: allocations move pages together.",
            "内存充足，但任务仍有 {value}% 的时间在等待内存：分配时在规整页面。",
        ),
        measure=_STALLED,
        op=">=",
        thresholds=(("warn", _TENTH),),
        also=(
            _COMPACTS,
            _ENOUGH,
            Condition(_THP, "<=", Threshold("huge", 0.0, "no program requested a huge page")),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        related=(MetricReading("mem.allocstall_per_s"),),
        causes=("memory-fragmented",),
        refutes=("memory-fragmented",),
        harm=True,
        source="PSI memory some; compact_stall of /proc/vmstat",
    ),
    Rule(
        id="F-MEM-THP-STALL",
        title=Text("Faults for huge pages stall", "大页缺页造成停顿"),
        summary=Text(
            "Tasks wait for memory {value} % of the time although there is memory: huge pages are put together.",
            "内存充足，但任务仍有 {value}% 的时间在等待内存：正在拼凑大页。",
        ),
        measure=_STALLED,
        op=">=",
        thresholds=(("warn", _TENTH),),
        also=(
            _COMPACTS,
            _ENOUGH,
            Condition(_THP, ">", Threshold("huge", 0.0, "programs requested transparent huge pages")),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        related=(MetricReading("mem.allocstall_per_s"),),
        causes=("transparent-huge-pages",),
        refutes=("transparent-huge-pages",),
        harm=True,
        source="PSI memory some; compact_stall, thp_fault_* of /proc/vmstat (admin-guide/mm/transhuge.rst)",
    ),
    Rule(
        id="F-MEM-SWAP-DESPITE-ROOM",
        title=Text("The host swaps although there is memory", "内存充足仍在交换"),
        summary=Text(
            "Tasks wait for memory {value} % of the time because of swapping, although memory is available.",
            "内存充足，任务仍因交换有 {value}% 的时间在等待内存。",
        ),
        measure=_STALLED,
        op=">=",
        thresholds=(("warn", _TENTH),),
        also=(
            Condition(
                MetricReading("mem.pswpin_per_s", "held"),
                ">",
                Threshold("in", 0.0, "pages that were swapped out are needed again"),
            ),
            Condition(
                MetricReading("mem.available_pct", "min"),
                ">=",
                Threshold("available", 20.0, "twice of what F-MEM-AVAILABLE calls little"),
            ),
            Condition(
                holders.FULLEST_GROUP,
                "<",
                Threshold("group", 95.0, "a group at its limit swaps for that reason"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        related=(MetricReading("mem.pswpout_per_s"),),
        causes=("swap-despite-free-memory",),
        refutes=("swap-despite-free-memory",),
        harm=True,
        source="PSI memory some; pswpin of /proc/vmstat against MemAvailable",
    ),
    Rule(
        id="F-MEM-READ-AGAIN",
        title=Text("The disk reads again what was in memory", "磁盘重复读取曾在内存中的数据"),
        summary=Text(
            "{value} % of all reads are data that {cgroup} had in memory ({mb_per_s} MB/s, limit {limit_mb} MiB).",
            "全部读取的 {value}% 是 {cgroup} 曾在内存中的数据（{mb_per_s} MB/s，限额 {limit_mb} MiB）。",
        ),
        measure=shortage.READ_AGAIN,
        op=">=",
        thresholds=(("warn", _MOST),),
        also=(
            Condition(
                shortage.USAGE, ">=", Threshold("full", 95.0, "at the limit, each read evicts another page")
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        related=(shortage.REFAULTS,),
        causes=("memcg-page-cache-thrashing",),
        refutes=("memcg-page-cache-thrashing",),
        caveats=Text(
            "A scan of more data than memory holds reads all of it again at any limit.",
            "扫描超过内存容量的数据时，无论限额多大都会重复读取。",
        ),
        source="workingset_refault_file of memory.stat, 4 KiB each, against the reads of /proc/diskstats",
    ),
)

RULES: tuple[Rule, ...] = (*_HOLDERS, *_STALLS)
