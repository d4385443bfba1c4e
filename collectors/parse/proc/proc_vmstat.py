"""vmstat's figures from the files that vmstat reads, for hosts without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from collectors.contract import Context, Parsed, Part, Series, Values
from collectors.parse import named, outcome, rates, sampled
from collectors.parse.named import Yield
from collectors.parse.sampled import Readings, Snapshot
from collectors.parse.tokens import counter

FILES = ("/proc/stat", "/proc/vmstat", "/proc/meminfo")
_PAGE_KB = 4.0
_JIFFIES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")

_STAT = (
    Yield("sched.runq", ("procs_running",), "gauge"),
    Yield("sched.blocked", ("procs_blocked",), "gauge"),
    Yield("cpu.interrupts_per_s", ("intr",)),
    Yield("sched.switches_per_s", ("ctxt",)),
)
_MEMINFO = (
    Yield("mem.free_kb", ("MemFree",), "gauge"),
    Yield("mem.buffers_kb", ("Buffers",), "gauge"),
    Yield("mem.cache_kb", ("Cached", "SReclaimable"), "gauge"),
)
#: pgpgin and pgpgout count kB whatever the page size.
_VMSTAT = (
    Yield("disk.blocks_in_kb_per_s", ("pgpgin",)),
    Yield("disk.blocks_out_kb_per_s", ("pgpgout",)),
)


def parse(parts: Mapping[str, Part], context: Context, limit: int) -> Parsed:
    """The metrics of vmstat, with fractions that vmstat itself rounds away.

    CPU shares as procps 4 counts them: us = user + nice without guests, sy = system + irq + softirq,
    gu = guest + guest_nice.
    """
    samples = sampled.read(parts, limit)
    stat = sampled.tabulate(samples.of("/proc/stat"), _stat)
    vmstat = sampled.tabulate(samples.of("/proc/vmstat"), named.pairs)
    meminfo = sampled.tabulate(samples.of("/proc/meminfo"), named.pairs)
    page_kb = _page_kb(context.facts)
    swap = (
        Yield("mem.swap_in_kb_per_s", ("pswpin",), scale=page_kb),
        Yield("mem.swap_out_kb_per_s", ("pswpout",), scale=page_kb),
    )
    found = [
        *named.series_of(context, stat, _STAT),
        *named.series_of(context, meminfo, _MEMINFO),
        *named.series_of(context, vmstat, (*_VMSTAT, *swap)),
        *_shares(context, stat),
    ]
    used = meminfo.column("SwapTotal") - meminfo.column("SwapFree")
    lines = meminfo.line_of("SwapTotal")
    found += sampled.series(context, "mem.swap_used_kb", meminfo.boot_ns, used, lines=lines)
    return outcome.of_series(found, samples.warnings)


def _page_kb(facts: Mapping[str, object]) -> float:
    size = facts.get("page_size")
    return size / 1024.0 if isinstance(size, int) and size in {4096, 8192, 16384, 65536} else _PAGE_KB


def _stat(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    for offset, line in enumerate(snapshot.lines()):
        tokens = line.split(None, 11)
        if len(tokens) < 2:
            continue
        if tokens[0] == b"cpu":
            for name, token in zip(_JIFFIES, tokens[1:11], strict=False):
                yield name, counter(token), offset
        elif tokens[0] in {b"intr", b"ctxt", b"procs_running", b"procs_blocked"}:
            yield tokens[0].decode("ascii"), counter(tokens[1]), offset


def _shares(context: Context, stat: Readings) -> list[Series]:
    if len(stat.boot_ns) < 2:
        return []
    spent: dict[str, Values] = {}
    for name in _JIFFIES:
        difference = rates.deltas(stat.column(name))
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
    found: list[Series] = []
    for name, part in parts.items():
        share = rates.share_pct(part, total)
        found += sampled.series(context, f"cpu.total_{name}_pct", stat.boot_ns[1:], share, lines=lines)
    return found
