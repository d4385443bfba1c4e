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
from collectors.parse import outcome, rates, sampled
from collectors.parse.sampled import Readings, Snapshot
from collectors.parse.tokens import counter, hexadecimal

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
_WANTED = {"entries", *_RATES.values()}
#: Every CPU's row repeats the number of connections; that of the first is taken.
_ENTRIES = "entries|1"


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """How full, and rates of what was refused, summed over the CPUs; table size and buckets as facts.

    Connections are counted for each network namespace, and the limit is one for all; 0 means that there is
    none. `entries` of the statistics is that count, of the namespace that was looked at; a kernel without the
    statistics has it of the host's own only.
    """
    samples = sampled.read(parts, _MAX_BYTES)
    gauges = {path: sampled.tabulate(samples.of(path), _single) for path in (_COUNT, _MAX, _BUCKETS)}
    readings = sampled.tabulate(samples.of(_STAT), _numbers, _MAX_CPUS * len(_WANTED))
    counted = (readings, _ENTRIES) if _ENTRIES in readings.names else (gauges[_COUNT], "value")
    found = _fill(context, *counted, gauges[_MAX])
    for metric, name in _RATES.items():
        columns = [one for one in readings.names if one.startswith(f"{name}|")]
        if columns and len(readings.boot_ns) > 1:
            per_cpu = np.hstack([readings.column(one) for one in columns])
            rate = _sum(rates.per_second(readings.boot_ns, per_cpu, rates.WRAP_32))
            lines = readings.line_of(columns[0])[1:]
            found += sampled.series(context, metric, readings.boot_ns[1:], rate, lines=lines)
    last = {name: gauge.column("value")[-1:] for name, gauge in gauges.items()}
    facts: dict[str, object] = {
        name: int(last[path][0, 0])
        for name, path in (("conntrack_max", _MAX), ("conntrack_buckets", _BUCKETS))
        if np.isfinite(last[path]).any()
    }
    return outcome.of_series(found, samples.warnings, facts)


def _fill(context: Context, count: Readings, name: str, limit: Readings) -> list[Series]:
    """Connections in the table, and their share of the limit as it was at about that time."""
    values, lines = count.column(name), count.line_of(name)
    found = sampled.series(context, "conntrack.count", count.boot_ns, values, lines=lines)
    if not len(limit.boot_ns) or not len(count.boot_ns):
        return found
    at = np.clip(np.searchsorted(limit.boot_ns, count.boot_ns), 0, len(limit.boot_ns) - 1)
    share = rates.share_pct(values, limit.column("value")[at])
    return found + sampled.series(context, "conntrack.fill_pct", count.boot_ns, share, lines=lines)


def _single(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    yield "value", counter(snapshot.body.strip()), 0


def _numbers(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    """`name|row` for each CPU's row; the header names the hexadecimal columns."""
    lines = snapshot.lines()[: _MAX_CPUS + 1]
    header = lines[0].split()[:64] if lines else []
    wanted = {at: name.decode("ascii", "replace") for at, name in enumerate(header)}
    wanted = {at: name for at, name in wanted.items() if name in _WANTED}
    for offset, line in enumerate(lines[1:], 1):
        tokens = line.split(None, 64)
        if len(tokens) == len(header):
            for at, name in wanted.items():
                yield f"{name}|{offset}", hexadecimal(tokens[at]), offset


def _sum(values: Values) -> Values:
    """Row sums over what is known, [n, k] → [n, 1]; NaN where nothing is."""
    total = np.where(np.isfinite(values), values, 0.0).sum(axis=1, keepdims=True)
    return np.where(np.isfinite(values).any(axis=1, keepdims=True), total, np.nan)


COLLECTOR = Collector(
    id="conntrack",
    title=Text("Tracked connections", "连接跟踪"),
    why=Text(
        "A full table of tracked connections drops every new one, without a word to either side.",
        "连接跟踪表写满后会直接丢弃新连接，两端都得不到任何提示。",
    ),
    tier=Tier.LIGHT,
    ways=(
        Sampled(
            "proc",
            Needs(files=(_COUNT,), mend="nothing: this kernel tracks no connections (nf_conntrack)"),
            files=(_COUNT, _MAX, _BUCKETS, _STAT),
            interval_s=1.0,
        ),
    ),
    parse=parse,
    cost=Cost(0.03, 900, Text("Four small files a second.", "每秒读取四个小文件。")),
    yields=("conntrack.count", "conntrack.fill_pct", *_RATES),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
