"""How full the table of tracked connections is, and what it refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    Series,
    TargetAccess,
    Text,
    Tier,
    Values,
)
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Readings, Snapshot
from collectors.parse.tables import rates, results
from collectors.parse.tables.tokens import parse_counter, parse_hexadecimal

_FOLDER = "/proc/sys/net/netfilter"
_COUNT, _MAX, _BUCKETS = (f"{_FOLDER}/nf_conntrack_{name}" for name in ("count", "max", "buckets"))
_STAT = "/proc/net/stat/nf_conntrack"
_MAX_BYTES = 64 << 20
_MAX_CPUS = 8192
_RATES = {
    "conntrack.drops_per_s": "drop",
    "conntrack.early_drops_per_s": "early_drop",
    "conntrack.insert_failed_per_s": "insert_failed",
    "conntrack.search_restarts_per_s": "search_restart",
}
_NAMES = {"entries", *_RATES.values()}
#: Every CPU's row repeats the number of connections; that of the first is taken.
_ENTRIES = "entries|1"


def parse_conntrack(parts: Mapping[str, Part], context: Context) -> Parsed:
    """How full, and rates of what was refused, summed over the CPUs; table size and buckets as facts.

    Connections are counted for each network namespace, and the limit is one for all; 0 means that there is
    none. `entries` of the statistics is that count, of the namespace that was looked at; a kernel without the
    statistics has it of the host's own only.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    gauges = {
        path: sampled.tabulate_readings(samples.of(path), _read_single) for path in (_COUNT, _MAX, _BUCKETS)
    }
    readings = sampled.tabulate_readings(samples.of(_STAT), _read_numbers, _MAX_CPUS * len(_NAMES))
    counted = (readings, _ENTRIES) if _ENTRIES in readings.names else (gauges[_COUNT], "value")
    fill = _compute_fill(context, *counted, gauges[_MAX])
    for metric, name in _RATES.items():
        columns = [item for item in readings.names if item.startswith(f"{name}|")]
        if columns and len(readings.boot_ns) > 1:
            per_cpu = np.hstack([readings.column(column) for column in columns])
            rate = _sum_columns(rates.compute_rates(readings.boot_ns, per_cpu, rates.WRAP_32))
            lines = readings.line_of(columns[0])[1:]
            fill += sampled.build_series(context, metric, readings.boot_ns[1:], rate, lines=lines)
    last = {name: gauge.column("value")[-1:] for name, gauge in gauges.items()}
    facts: dict[str, object] = {
        name: int(last[path][0, 0])
        for name, path in (("conntrack_max", _MAX), ("conntrack_buckets", _BUCKETS))
        if np.isfinite(last[path]).any()
    }
    return results.build_series_result(fill, samples.warnings, facts)


def _compute_fill(context: Context, count: Readings, name: str, limit: Readings) -> list[Series]:
    """Connections in the table, and their share of the limit as it was at about that time."""
    values, lines = count.column(name), count.line_of(name)
    series = sampled.build_series(context, "conntrack.count", count.boot_ns, values, lines=lines)
    if not len(limit.boot_ns) or not len(count.boot_ns):
        return series
    at = np.clip(np.searchsorted(limit.boot_ns, count.boot_ns), 0, len(limit.boot_ns) - 1)
    share = rates.compute_share_pct(values, limit.column("value")[at])
    return series + sampled.build_series(context, "conntrack.fill_pct", count.boot_ns, share, lines=lines)


def _read_single(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    yield "value", parse_counter(snapshot.body.strip()), 0


def _read_numbers(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    """`name|row` for each CPU's row; the header names the hexadecimal columns."""
    lines = snapshot.lines()[: _MAX_CPUS + 1]
    header = lines[0].split()[:64] if lines else []
    requested = {at: name.decode("ascii", "replace") for at, name in enumerate(header)}
    requested = {at: name for at, name in requested.items() if name in _NAMES}
    for offset, line in enumerate(lines[1:], 1):
        tokens = line.split(None, 64)
        if len(tokens) == len(header):
            for at, name in requested.items():
                yield f"{name}|{offset}", parse_hexadecimal(tokens[at]), offset


def _sum_columns(values: Values) -> Values:
    """Row sums over what is known, [n, k] → [n, 1]; NaN where nothing is."""
    total = np.where(np.isfinite(values), values, 0.0).sum(axis=1, keepdims=True)
    return np.where(np.isfinite(values).any(axis=1, keepdims=True), total, np.nan)


COLLECTOR = Collector(
    id="conntrack",
    title=Text("Tracked connections", "连接跟踪"),
    why=Text(
        "A full connection tracking table silently drops every new connection.",
        "连接跟踪表写满后会静默丢弃所有新连接。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc",
            Needs(files=(_COUNT,), remedy="nothing: this kernel tracks no connections (nf_conntrack)"),
            files=(_COUNT, _MAX, _BUCKETS, _STAT),
            interval_s=1.0,
        ),
    ),
    parse=parse_conntrack,
    cost=Cost(0.03, 900, Text("Four small files a second.", "每秒读取四个小文件。")),
    yields=("conntrack.count", "conntrack.fill_pct", *_RATES),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
