"""iostat's figures from /proc/diskstats, for hosts without sysstat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from collectors.contract import Context, Parsed, Part, Series, Values
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Readings, Snapshot
from collectors.parse.tables import rates, results
from collectors.parse.tables.tokens import parse_counter, to_text

PATH = "/proc/diskstats"
_SECTOR_MB = 512 / (1 << 20)
_SECTOR_KB = 0.5
_MAX_DEVICES = 1_000
#: Columns behind major, minor and name; discards came with 4.18, flushes with 5.5.
_NAMES = (
    *("reads", "reads_merged", "read_sectors", "read_ms"),
    *("writes", "writes_merged", "write_sectors", "write_ms"),
    *("in_flight", "busy_ms", "queue_ms"),
    *("discards", "discards_merged", "discard_sectors", "discard_ms", "flushes", "flush_ms"),
)
#: The kernel prints these in 32 bits.
_NARROW = frozenset(name for name in _NAMES if name.endswith("_ms"))
_WHOLE_NEEDS_P = re.compile(r"\d$")


def parse_diskstats(parts: Mapping[str, Part], context: Context, limit: int) -> Parsed:
    """Rates by whole device. Partitions are left out, and devices that never did any I/O.

    Formulas as in sysstat's rd_stats.c: await = ms spent / requests completed, aqu = weighted ms / elapsed
    ms, util = busy ms / elapsed ms. Format: Documentation/admin-guide/iostats.rst of the kernel.
    """
    samples = sampled.read_samples(parts, limit)
    readings = sampled.tabulate_readings(samples.of(PATH), _read_numbers)
    devices = list(dict.fromkeys(name.partition("|")[0] for name in readings.names))
    series: list[Series] = []
    if len(readings.boot_ns) > 1:
        for dev in select_whole_devices(devices)[:_MAX_DEVICES]:
            series += _build_device_series(context, readings, dev)
    return results.build_series_result(series, samples.warnings)


def select_whole_devices(names: Iterable[str]) -> list[str]:
    """The names that are no partition of another: not `sda1` or `nvme0n1p2` next to their disk, but `dm-10`."""
    known = list(names)
    wholes = set(known)
    return [name for name in known if _find_parent(name) not in wholes]


def _find_parent(name: str) -> str:
    stem = name.rstrip("0123456789")
    if stem == name or not stem:
        return ""
    if stem.endswith("p") and _WHOLE_NEEDS_P.search(stem[:-1]):
        return stem[:-1]
    return "" if _WHOLE_NEEDS_P.search(stem) else stem


def _read_numbers(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    for offset, line in enumerate(snapshot.lines()):
        tokens = line.split(None, 20)
        if len(tokens) < 14 or not tokens[0].isdigit() or b"|" in tokens[2]:
            continue
        dev = to_text(tokens[2], 64)
        for name, token in zip(_NAMES, tokens[3:], strict=False):
            yield f"{dev}|{name}", parse_counter(token), offset


def _build_device_series(context: Context, readings: Readings, dev: str) -> list[Series]:
    counters = {name: readings.column(f"{dev}|{name}") for name in _NAMES}
    if not any(np.nanmax(counters[name], initial=0.0) > 0 for name in ("reads", "writes", "discards")):
        return []
    elapsed = rates.compute_elapsed_s(readings.boot_ns)[:, None]
    did = {
        name: rates.compute_deltas(c, rates.WRAP_32 if name in _NARROW else None)
        for name, c in counters.items()
    }
    values: dict[str, Values] = {
        "r_iops": did["reads"] / elapsed,
        "w_iops": did["writes"] / elapsed,
        "d_iops": did["discards"] / elapsed,
        "flush_per_s": did["flushes"] / elapsed,
        "read_mb_s": did["read_sectors"] * _SECTOR_MB / elapsed,
        "write_mb_s": did["write_sectors"] * _SECTOR_MB / elapsed,
        "r_await_ms": _divide(did["read_ms"], did["reads"]),
        "w_await_ms": _divide(did["write_ms"], did["writes"]),
        "f_await_ms": _divide(did["flush_ms"], did["flushes"]),
        "rareq_kb": _divide(did["read_sectors"] * _SECTOR_KB, did["reads"]),
        "wareq_kb": _divide(did["write_sectors"] * _SECTOR_KB, did["writes"]),
        "rrqm_per_s": did["reads_merged"] / elapsed,
        "wrqm_per_s": did["writes_merged"] / elapsed,
        "aqu": did["queue_ms"] / (elapsed * 1e3),
        "util_pct": np.fmin(did["busy_ms"] / (elapsed * 10.0), 100.0) + 0.0 * did["busy_ms"],
    }
    lines, boot_ns = readings.line_of(f"{dev}|reads")[1:], readings.boot_ns[1:]
    series: list[Series] = []
    for name, item in values.items():
        series += sampled.build_series(
            context, f"disk.{name}", boot_ns, item, lines=lines, labels={"dev": dev}
        )
    return series


def _divide(amount: Values, requests: Values) -> Values:
    """Mean for each request; no requests is no data."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(requests > 0, amount / requests, np.nan)
