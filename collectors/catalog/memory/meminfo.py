"""Sizes of memory by use, once a second."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Sampled, Text, Tier
from collectors.metrics.row import Metric, TrackStyle
from collectors.parse.proc import named_numbers, sampled
from collectors.parse.proc.named_numbers import MetricSource
from collectors.parse.tables import rates, results

_PATH = "/proc/meminfo"
_MAX_BYTES = 8 << 20

_YIELDS = (
    MetricSource("mem.total_kb", ("MemTotal",), "gauge"),
    MetricSource("mem.available_kb", ("MemAvailable",), "gauge"),
    MetricSource("mem.swap_total_kb", ("SwapTotal",), "gauge"),
    MetricSource("mem.anon_kb", ("AnonPages",), "gauge"),
    MetricSource("mem.file_cached_kb", ("Cached",), "gauge"),
    MetricSource("mem.shmem_kb", ("Shmem",), "gauge"),
    MetricSource("mem.slab_kb", ("Slab",), "gauge"),
    MetricSource("mem.slab_unreclaimable_kb", ("SUnreclaim",), "gauge"),
    MetricSource("mem.dirty_kb", ("Dirty",), "gauge"),
    MetricSource("mem.writeback_kb", ("Writeback",), "gauge"),
    MetricSource("mem.committed_kb", ("Committed_AS",), "gauge"),
    MetricSource("mem.page_tables_kb", ("PageTables",), "gauge"),
    MetricSource("mem.hardware_corrupted_kb", ("HardwareCorrupted",), "gauge"),
)


def parse_meminfo(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Gauges in kB, and what is available as a share of all; kernels before 3.14 do not report it."""
    samples = sampled.read_samples(parts, _MAX_BYTES)
    readings = sampled.tabulate_readings(samples.of(_PATH), named_numbers.read_pairs)
    named_series = named_numbers.build_named_series(context, readings, _YIELDS)
    share = rates.compute_share_pct(readings.column("MemAvailable"), readings.column("MemTotal"))
    lines = readings.line_of("MemAvailable")
    named_series += sampled.build_series(context, "mem.available_pct", readings.boot_ns, share, lines=lines)
    unused = readings.column("HugePages_Free") * readings.column("Hugepagesize")
    lines = readings.line_of("HugePages_Free")
    named_series += sampled.build_series(
        context, "mem.huge_pages_free_kb", readings.boot_ns, unused, lines=lines
    )
    return results.build_series_result(named_series, samples.warnings)


COLLECTOR = Collector(
    id="meminfo",
    title=Text("Memory", "内存"),
    why=Text("How much memory is left, and what holds the rest.", "还剩多少内存，其余被什么占用。"),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc", Needs(files=(_PATH,), remedy="mount -t proc proc /proc"), files=(_PATH,), interval_s=1.0
        ),
    ),
    parse=parse_meminfo,
    cost=Cost(0.03, 1_600, Text("One small file per second.", "每秒读取一个小文件。")),
    yields=(*(item.metric for item in _YIELDS), "mem.available_pct", "mem.huge_pages_free_kb"),
    metrics=(
        Metric(
            "mem.huge_pages_free_kb",
            "kb",
            "gauge",
            (),
            None,
            Text("Unused huge pages", "未使用的大页"),
            Text("Huge pages that are reserved and that no program uses.", "已预留而没有程序使用的大页。"),
            TrackStyle("memory", 490, "line"),
        ),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    parser_version=2,
    touches=frozenset(),
)
