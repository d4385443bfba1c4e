"""Sizes of memory by use, once a second."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Sampled, Text, Tier
from collectors.parse import named, outcome, rates, sampled
from collectors.parse.named import Yield

_PATH = "/proc/meminfo"
_MAX_BYTES = 8 << 20

_YIELDS = (
    Yield("mem.total_kb", ("MemTotal",), "gauge"),
    Yield("mem.available_kb", ("MemAvailable",), "gauge"),
    Yield("mem.swap_total_kb", ("SwapTotal",), "gauge"),
    Yield("mem.anon_kb", ("AnonPages",), "gauge"),
    Yield("mem.file_cached_kb", ("Cached",), "gauge"),
    Yield("mem.shmem_kb", ("Shmem",), "gauge"),
    Yield("mem.slab_kb", ("Slab",), "gauge"),
    Yield("mem.slab_unreclaimable_kb", ("SUnreclaim",), "gauge"),
    Yield("mem.dirty_kb", ("Dirty",), "gauge"),
    Yield("mem.writeback_kb", ("Writeback",), "gauge"),
    Yield("mem.committed_kb", ("Committed_AS",), "gauge"),
    Yield("mem.page_tables_kb", ("PageTables",), "gauge"),
    Yield("mem.hardware_corrupted_kb", ("HardwareCorrupted",), "gauge"),
)


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Gauges in kB, and what is available as a share of all; before 3.14 kernels do not say it."""
    samples = sampled.read(parts, _MAX_BYTES)
    readings = sampled.tabulate(samples.of(_PATH), named.pairs)
    found = named.series_of(context, readings, _YIELDS)
    share = rates.share_pct(readings.column("MemAvailable"), readings.column("MemTotal"))
    lines = readings.line_of("MemAvailable")
    found += sampled.series(context, "mem.available_pct", readings.boot_ns, share, lines=lines)
    return outcome.of_series(found, samples.warnings)


COLLECTOR = Collector(
    id="meminfo",
    title=Text("Memory", "内存"),
    why=Text("How much memory is left, and what holds the rest.", "还剩多少内存，其余被什么占用。"),
    tier=Tier.LIGHT,
    ways=(
        Sampled(
            "proc", Needs(files=(_PATH,), mend="mount -t proc proc /proc"), files=(_PATH,), interval_s=1.0
        ),
    ),
    parse=parse,
    cost=Cost(0.03, 1_600, Text("One small file a second.", "每秒读取一个小文件。")),
    yields=(*(one.metric for one in _YIELDS), "mem.available_pct"),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
