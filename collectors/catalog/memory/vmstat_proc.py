"""Page faults, reclaim, swapping and refaults, once a second."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Sampled, Text, Tier
from collectors.metrics.row import host_rate
from collectors.parse.proc import named_numbers, sampled
from collectors.parse.proc.named_numbers import MetricSource
from collectors.parse.tables import results

_PATH = "/proc/vmstat"
_MAX_BYTES = 16 << 20

_YIELDS = (
    MetricSource("mem.pgfault_per_s", ("pgfault",)),
    MetricSource("mem.pgmajfault_per_s", ("pgmajfault",)),
    MetricSource("mem.pswpin_per_s", ("pswpin",)),
    MetricSource("mem.pswpout_per_s", ("pswpout",)),
    MetricSource(
        "mem.pgscan_kswapd_per_s",
        (
            "pgscan_kswapd",
            "pgscan_kswapd_dma",
            "pgscan_kswapd_dma32",
            "pgscan_kswapd_normal",
            "pgscan_kswapd_high",
            "pgscan_kswapd_movable",
        ),
    ),
    MetricSource(
        "mem.pgscan_direct_per_s",
        (
            "pgscan_direct",
            "pgscan_direct_dma",
            "pgscan_direct_dma32",
            "pgscan_direct_normal",
            "pgscan_direct_high",
            "pgscan_direct_movable",
        ),
    ),
    MetricSource(
        "mem.pgsteal_per_s",
        (
            "pgsteal",
            "pgsteal_dma",
            "pgsteal_dma32",
            "pgsteal_normal",
            "pgsteal_high",
            "pgsteal_movable",
            "pgsteal_kswapd",
            "pgsteal_kswapd_dma",
            "pgsteal_kswapd_dma32",
            "pgsteal_kswapd_normal",
            "pgsteal_kswapd_high",
            "pgsteal_kswapd_movable",
            "pgsteal_direct",
            "pgsteal_direct_dma",
            "pgsteal_direct_dma32",
            "pgsteal_direct_normal",
            "pgsteal_direct_high",
            "pgsteal_direct_movable",
            "pgsteal_khugepaged",
            "pgsteal_proactive",
        ),
    ),
    MetricSource(
        "mem.allocstall_per_s",
        (
            "allocstall",
            "allocstall_dma",
            "allocstall_dma32",
            "allocstall_normal",
            "allocstall_high",
            "allocstall_movable",
        ),
    ),
    MetricSource(
        "mem.refault_per_s",
        (
            "workingset_refault",
            "workingset_refault_anon",
            "workingset_refault_file",
        ),
    ),
    MetricSource("mem.compact_stall_per_s", ("compact_stall",)),
    MetricSource("mem.thp_faults_per_s", ("thp_fault_alloc", "thp_fault_fallback")),
    MetricSource("mem.numa_migrated_per_s", ("numa_pages_migrated",)),
    MetricSource("mem.oom_kill_delta", ("oom_kill",), "delta"),
)


def parse_vmstat_proc(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates of the kernel's counters of memory events.

    Names were split by zone (before 4.8) and by type (refaults in 5.9, stalls in 4.8); the parts are summed.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    readings = sampled.tabulate_readings(samples.of(_PATH), named_numbers.read_pairs)
    return results.build_series_result(
        named_numbers.build_named_series(context, readings, _YIELDS), samples.warnings
    )


COLLECTOR = Collector(
    id="vmstat_proc",
    title=Text("Memory events", "内存事件"),
    why=Text(
        "Major faults, reclaim, refaults and OOM kills: whether memory is short and which tasks are affected.",
        "主缺页、回收、重新读入与 OOM：内存是否不足、由谁承担。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc", Needs(files=(_PATH,), remedy="mount -t proc proc /proc"), files=(_PATH,), interval_s=1.0
        ),
    ),
    parse=parse_vmstat_proc,
    cost=Cost(0.03, 5500, Text("One small file per second.", "每秒读取一个小文件。")),
    yields=tuple(item.metric for item in _YIELDS),
    metrics=(
        host_rate(
            "mem.thp_faults_per_s",
            "memory",
            491,
            "Faults for huge pages",
            "大页缺页",
            "Page faults that requested a transparent huge page, with or without success.",
            "请求透明大页的缺页次数（无论成功与否）。",
        ),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    parser_version=2,
    touches=frozenset(),
)
