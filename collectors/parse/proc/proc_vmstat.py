"""vmstat's figures from the files that vmstat reads, for hosts without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from collectors.contract import Context, Parsed, Part, Series, Values
from collectors.parse.proc import named_numbers, sampled
from collectors.parse.proc.named_numbers import MetricSource
from collectors.parse.proc.sampled import Readings, Snapshot
from collectors.parse.tables import rates, results
from collectors.parse.tables.tokens import parse_counter

FILES = ("/proc/stat", "/proc/vmstat", "/proc/meminfo")
_PAGE_KB = 4.0
_JIFFIES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")

_STAT = (
    MetricSource("sched.runq", ("procs_running",), "gauge"),
    MetricSource("sched.blocked", ("procs_blocked",), "gauge"),
    MetricSource("cpu.interrupts_per_s", ("intr",)),
    MetricSource("sched.switches_per_s", ("ctxt",)),
)
_MEMINFO = (
    MetricSource("mem.free_kb", ("MemFree",), "gauge"),
    MetricSource("mem.buffers_kb", ("Buffers",), "gauge"),
    MetricSource("mem.cache_kb", ("Cached", "SReclaimable"), "gauge"),
)
#: pgpgin and pgpgout count kB for every page size.
_VMSTAT = (
    MetricSource("disk.blocks_in_kb_per_s", ("pgpgin",)),
    MetricSource("disk.blocks_out_kb_per_s", ("pgpgout",)),
)


def parse_proc_vmstat(parts: Mapping[str, Part], context: Context, limit: int) -> Parsed:
    """The metrics of vmstat, with fractions that vmstat itself rounds away.

    CPU shares as procps 4 counts them: us = user + nice without guests, sy = system + irq + softirq,
    gu = guest + guest_nice.
    """
    samples = sampled.read_samples(parts, limit)
    stat = sampled.tabulate_readings(samples.of("/proc/stat"), _read_stat)
    vmstat = sampled.tabulate_readings(samples.of("/proc/vmstat"), named_numbers.read_pairs)
    meminfo = sampled.tabulate_readings(samples.of("/proc/meminfo"), named_numbers.read_pairs)
    page_kb = _find_page_kb(context.facts)
    swap = (
        MetricSource("mem.swap_in_kb_per_s", ("pswpin",), scale=page_kb),
        MetricSource("mem.swap_out_kb_per_s", ("pswpout",), scale=page_kb),
    )
    named_series = [
        *named_numbers.build_named_series(context, stat, _STAT),
        *named_numbers.build_named_series(context, meminfo, _MEMINFO),
        *named_numbers.build_named_series(context, vmstat, (*_VMSTAT, *swap)),
        *_compute_shares(context, stat),
    ]
    used = meminfo.column("SwapTotal") - meminfo.column("SwapFree")
    lines = meminfo.line_of("SwapTotal")
    named_series += sampled.build_series(context, "mem.swap_used_kb", meminfo.boot_ns, used, lines=lines)
    return results.build_series_result(named_series, samples.warnings)


def _find_page_kb(facts: Mapping[str, object]) -> float:
    size = facts.get("page_size")
    return size / 1024.0 if isinstance(size, int) and size in {4096, 8192, 16384, 65536} else _PAGE_KB


def _read_stat(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    for offset, line in enumerate(snapshot.lines()):
        tokens = line.split(None, 11)
        if len(tokens) < 2:
            continue
        if tokens[0] == b"cpu":
            for name, token in zip(_JIFFIES, tokens[1:11], strict=False):
                yield name, parse_counter(token), offset
        elif tokens[0] in {b"intr", b"ctxt", b"procs_running", b"procs_blocked"}:
            yield tokens[0].decode("ascii"), parse_counter(tokens[1]), offset


def _compute_shares(context: Context, stat: Readings) -> list[Series]:
    if len(stat.boot_ns) < 2:
        return []
    spent: dict[str, Values] = {}
    for name in _JIFFIES:
        difference = rates.compute_deltas(stat.column(name))
        spent[name] = difference if name in stat.names else np.zeros_like(difference)
    guests = spent["guest"] + spent["guest_nice"]
    parts = {
        "usr": np.fmax(spent["user"] + spent["nice"] - guests, 0.0),
        "sys": spent["system"] + spent["irq"] + spent["softirq"],
        "idle": spent["idle"],
        "iowait": spent["iowait"],
        "steal": spent["steal"],
        "guest": guests,
    }
    total = np.sum(list(parts.values()), axis=0)
    lines = stat.line_of("user")[1:]
    series: list[Series] = []
    for name, part in parts.items():
        share = rates.compute_share_pct(part, total)
        series += sampled.build_series(context, f"cpu.total_{name}_pct", stat.boot_ns[1:], share, lines=lines)
    return series
