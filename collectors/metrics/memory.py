"""Memory: sizes, faults, reclaim, swap, and NUMA placement."""

from __future__ import annotations

from collectors.contract import Text
from collectors.metrics.row import Metric, TrackKind, TrackStyle, Unit


def _size_metric(name: str, order: int, title: Text, meaning: Text, kind: TrackKind = "line") -> Metric:
    return Metric(
        f"mem.{name}_kb", "kb", "gauge", (), None, title, meaning, TrackStyle("memory", order, kind)
    )


def _rate_metric(metric: str, order: int, title: Text, meaning: Text, unit: Unit = "per_s") -> Metric:
    return Metric(metric, unit, "counter", (), None, title, meaning, TrackStyle("memory", order, "line"))


_SIZES = (
    _size_metric(
        "total",
        401,
        Text("Memory", "内存总量"),
        Text("All memory that the kernel manages.", "内核管理的全部内存。"),
    ),
    _size_metric(
        "available",
        402,
        Text("Available", "可用内存"),
        Text(
            "What new work could have without swapping, as the kernel estimates it (3.14 and later).",
            "内核估计的不换出即可分配的内存（3.14 起）。",
        ),
        "area",
    ),
    _size_metric(
        "free", 403, Text("Free", "空闲内存"), Text("Memory that nothing uses.", "完全未使用的内存。")
    ),
    _size_metric(
        "buffers", 404, Text("Buffers", "缓冲区"), Text("Page cache of block devices.", "块设备页缓存。")
    ),
    _size_metric(
        "cache",
        405,
        Text("Cache", "缓存"),
        Text(
            "Page cache with reclaimable slab, as vmstat's cache.", "页缓存加可回收 slab（vmstat 的 cache）。"
        ),
    ),
    _size_metric(
        "swap_used",
        406,
        Text("Swap in use", "已用交换"),
        Text("Swap space in use, as vmstat's swpd.", "已使用的交换空间（vmstat 的 swpd）。"),
    ),
    _size_metric("swap_total", 407, Text("Swap", "交换总量"), Text("All swap space.", "交换空间总量。")),
    _size_metric(
        "anon",
        408,
        Text("Anonymous", "匿名内存"),
        Text("Anonymous pages mapped by processes.", "进程映射的匿名页。"),
    ),
    _size_metric(
        "file_cached",
        409,
        Text("File cache", "文件缓存"),
        Text(
            "Page cache without buffers and swap cache, with tmpfs.",
            "页缓存，不含缓冲区与交换缓存，含 tmpfs。",
        ),
    ),
    _size_metric(
        "shmem",
        410,
        Text("Shared and tmpfs", "共享内存"),
        Text(
            "Shared memory and tmpfs; not reclaimable without swap.", "共享内存与 tmpfs，无交换时不可回收。"
        ),
    ),
    _size_metric(
        "slab", 411, Text("Slab", "Slab"), Text("Kernel objects, reclaimable and not.", "内核对象缓存。")
    ),
    _size_metric(
        "slab_unreclaimable",
        412,
        Text("Slab, unreclaimable", "不可回收 Slab"),
        Text("Kernel objects that cannot be reclaimed.", "不可回收的内核对象。"),
    ),
    _size_metric(
        "dirty",
        413,
        Text("Dirty", "脏页"),
        Text("Pages waiting to be written to disk.", "等待写回磁盘的页。"),
    ),
    _size_metric(
        "writeback",
        414,
        Text("Writeback", "写回中"),
        Text("Pages being written to disk now.", "正在写回磁盘的页。"),
    ),
    _size_metric(
        "committed",
        415,
        Text("Committed", "已承诺内存"),
        Text("Memory promised to processes.", "已向进程承诺的内存。"),
    ),
    _size_metric(
        "page_tables",
        416,
        Text("Page tables", "页表"),
        Text("Memory used for page tables.", "页表占用的内存。"),
    ),
    _size_metric(
        "hardware_corrupted",
        417,
        Text("Failed memory", "损坏内存"),
        Text("Pages taken out of use because the memory under them errs.", "因内存出错而停用的页。"),
    ),
    Metric(
        "mem.available_pct",
        "pct",
        "gauge",
        (),
        None,
        Text("Available memory", "可用内存比例"),
        Text("Available memory as a share of all memory.", "可用内存占总内存的比例。"),
        TrackStyle("memory", 400, "area"),
    ),
)

_FLOWS = (
    _rate_metric(
        "mem.swap_in_kb_per_s",
        420,
        Text("Swap in", "换入"),
        Text("Read back from swap, as vmstat's si.", "从交换区读回的速率（vmstat 的 si）。"),
        "kb_per_s",
    ),
    _rate_metric(
        "mem.swap_out_kb_per_s",
        421,
        Text("Swap out", "换出"),
        Text("Written to swap, as vmstat's so.", "写入交换区的速率（vmstat 的 so）。"),
        "kb_per_s",
    ),
    _rate_metric(
        "mem.pswpin_per_s",
        422,
        Text("Pages swapped in", "换入页"),
        Text("Pages read from swap.", "从交换区读入的页数。"),
        "pages_per_s",
    ),
    _rate_metric(
        "mem.pswpout_per_s",
        423,
        Text("Pages swapped out", "换出页"),
        Text("Pages written to swap.", "写入交换区的页数。"),
        "pages_per_s",
    ),
    _rate_metric(
        "mem.pgfault_per_s",
        424,
        Text("Page faults", "缺页"),
        Text("Minor and major page faults.", "次要与主要缺页次数。"),
    ),
    _rate_metric(
        "mem.pgmajfault_per_s",
        425,
        Text("Major page faults", "主缺页"),
        Text("Page faults that had to read from a disk.", "需要从磁盘读取的缺页次数。"),
    ),
    _rate_metric(
        "mem.pgscan_kswapd_per_s",
        426,
        Text("Scanned by kswapd", "kswapd 扫描"),
        Text("Pages scanned by background reclaim.", "后台回收扫描的页数。"),
        "pages_per_s",
    ),
    _rate_metric(
        "mem.pgscan_direct_per_s",
        427,
        Text("Scanned by allocators", "直接回收扫描"),
        Text(
            "Pages scanned by tasks that had to reclaim memory themselves.",
            "任务自行回收内存时扫描的页数。",
        ),
        "pages_per_s",
    ),
    _rate_metric(
        "mem.pgsteal_per_s",
        428,
        Text("Reclaimed", "回收页"),
        Text("Pages reclaimed by anyone.", "被回收的页数。"),
        "pages_per_s",
    ),
    _rate_metric(
        "mem.allocstall_per_s",
        429,
        Text("Allocation stalls", "分配停顿"),
        Text("Allocations that had to reclaim first.", "必须先回收才能完成的分配次数。"),
    ),
    _rate_metric(
        "mem.refault_per_s",
        430,
        Text("Refaults", "重新读入"),
        Text(
            "Pages read again soon after their eviction: the working set does not fit.",
            "刚被逐出又重新读入的页，表示工作集放不下。",
        ),
        "pages_per_s",
    ),
    _rate_metric(
        "mem.compact_stall_per_s",
        431,
        Text("Compaction stalls", "内存规整停顿"),
        Text("Allocations that had to compact memory first.", "必须先规整内存的分配次数。"),
    ),
    _rate_metric(
        "mem.numa_migrated_per_s",
        432,
        Text("NUMA migrations", "NUMA 迁移页"),
        Text("Pages moved by automatic NUMA balancing.", "自动 NUMA 均衡迁移的页数。"),
        "pages_per_s",
    ),
    _rate_metric(
        "mem.oom_kill_delta",
        433,
        Text("OOM kills", "OOM 终止次数"),
        Text(
            "Tasks killed for want of memory in the interval (4.13 and later).",
            "区间内因内存不足被终止的任务数（4.13 起）。",
        ),
        "count",
    ),
)


def _numa_metric(metric: str, order: int, title: Text, meaning: Text, unit: Unit = "pages_per_s") -> Metric:
    return Metric(metric, unit, "counter", (), "node", title, meaning, TrackStyle("numa", order, "line"))


_NUMA = (
    _numa_metric(
        "numa.other_node_ratio_pct",
        900,
        Text("Allocated from another node", "跨节点分配比例"),
        Text(
            "Share of this node's allocations that were made for tasks running on another node.",
            "本节点分配中由其他节点上任务发起的比例。",
        ),
        "pct",
    ),
    _numa_metric(
        "numa.other_node_per_s",
        901,
        Text("Other-node allocations", "跨节点分配"),
        Text("Pages allocated here for tasks on another node.", "为其他节点上任务分配的页数。"),
    ),
    _numa_metric(
        "numa.local_node_per_s",
        902,
        Text("Local allocations", "本地分配"),
        Text("Pages allocated here for tasks on this node.", "为本节点任务分配的页数。"),
    ),
    _numa_metric(
        "numa.hit_per_s",
        903,
        Text("Hits", "命中"),
        Text(
            "Pages allocated here as wanted; a wrong binding counts as a hit too.",
            "按预期分配在此的页数，错误的绑定也计为命中。",
        ),
    ),
    _numa_metric(
        "numa.miss_per_s",
        904,
        Text("Misses", "未命中"),
        Text(
            "Pages allocated here although another node was preferred.",
            "本想分配到其他节点却分配在此的页数。",
        ),
    ),
    _numa_metric(
        "numa.foreign_per_s",
        905,
        Text("Foreign", "外溢"),
        Text("Pages meant for this node but allocated elsewhere.", "本应分配在此却分配到别处的页数。"),
    ),
    _numa_metric(
        "numa.interleave_per_s",
        906,
        Text("Interleaved", "交错"),
        Text("Pages placed here by an interleave policy.", "按交错策略分配在此的页数。"),
    ),
    Metric(
        "numa.free_kb",
        "kb",
        "gauge",
        (),
        "node",
        Text("Free, per node", "各节点空闲内存"),
        Text("Memory of the node that nothing uses.", "该节点未使用的内存。"),
        TrackStyle("numa", 907, "line"),
    ),
)

ROWS: tuple[Metric, ...] = _SIZES + _FLOWS + _NUMA
