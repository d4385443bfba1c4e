"""Tables and buffers of the network against their limits: neighbors, TIME_WAIT, orphans, memory of sockets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isfinite

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    Sentence,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Samples, Snapshot
from collectors.parse.tables.cells import Cell, compute_pct, count_or_none, counter_rate, number_or_none
from collectors.parse.tables.tokens import NAN, parse_counter, parse_hexadecimal

_MAX_BYTES = 2 << 20
_V4 = "/proc/sys/net/ipv4"
_V6 = "/proc/sys/net/ipv6"
_LIMITS = (Column("name"), Column("used"), Column("max"), Column("used_pct", "pct"))
_NEIGHBORS = (
    *(Column("family"), Column("entries"), Column("max"), Column("used_pct", "pct")),
    *(
        Column("table_fulls_per_s", "per_s"),
        Column("unresolved_per_s", "per_s"),
        Column("lookups_per_s", "per_s"),
    ),
    Column("forced_gc_per_s", "per_s"),
)
_TABLES = (("ipv4", "arp_cache", _V4), ("ipv6", "ndisc_cache", _V6))
_SOCKSTAT = re.compile(rb"^(TCP|UDP): (.*)$", re.MULTILINE)


def parse_net_limits(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `net_limits`: what is used of each limit at the last reading. Table `neighbors`: link addresses by family.

    Memory is in pages: the third value of tcp_mem and udp_mem is the limit (Documentation/networking/ip-sysctl.rst).
    Statistics of neighbors count for each CPU, in hexadecimal; `entries` is the same on each (net/core/neighbour.c).
    """
    del context
    samples = sampled.read_samples(parts, _MAX_BYTES)
    limits = list(_read_limits(samples))
    neighbors = list(_read_neighbors(samples))
    if not limits and not neighbors:
        return Parsed(warnings=(*samples.warnings, Sentence("warning.too_few_samples")), readable=False)
    tables = tuple(
        Table(kind, columns, tuple(row for row, _ in rows), sampled.PART, tuple(line for _, line in rows))
        for kind, columns, rows in (("net_limits", _LIMITS, limits), ("neighbors", _NEIGHBORS, neighbors))
        if rows
    )
    return Parsed(tables=tables, warnings=samples.warnings)


def _read_limits(samples: Samples) -> Iterator[tuple[tuple[Cell, ...], int]]:
    for snapshot in samples.of("/proc/net/sockstat")[-1:]:
        for match in _SOCKSTAT.finditer(snapshot.body):
            words = match[2].split()
            used = {name: parse_counter(value) for name, value in zip(words[::2], words[1::2], strict=False)}
            line = snapshot.line + snapshot.body.count(b"\n", 0, match.start())
            for name, field, path, place in _fields(match[1]):
                amount, limit = used.get(field, NAN), _read_number(samples, path, place)
                if isfinite(amount) and isfinite(limit):
                    share = number_or_none(compute_pct(amount, limit))
                    yield (name, count_or_none(amount), count_or_none(limit), share), line


def _fields(protocol: bytes) -> tuple[tuple[str, bytes, str, int], ...]:
    if protocol == b"UDP":
        return (("udp_memory", b"mem", f"{_V4}/udp_mem", 2),)
    return (
        ("tcp_memory", b"mem", f"{_V4}/tcp_mem", 2),
        ("orphans", b"orphan", f"{_V4}/tcp_max_orphans", 0),
        ("time_wait", b"tw", f"{_V4}/tcp_max_tw_buckets", 0),
    )


def _read_number(samples: Samples, path: str, place: int = 0) -> float:
    snapshots = samples.of(path)
    words = snapshots[-1].body.split() if snapshots else []
    return parse_counter(words[place]) if place < len(words) else NAN


def _read_neighbors(samples: Samples) -> Iterator[tuple[tuple[Cell, ...], int]]:
    for family, file, sysctl in _TABLES:
        snapshots = samples.of(f"/proc/net/stat/{file}")
        if not snapshots:
            continue
        first, last = _sum_columns(snapshots[0]), _sum_columns(snapshots[-1])
        elapsed_s = (snapshots[-1].boot_ns - snapshots[0].boot_ns) / 1e9
        limit = _read_number(samples, f"{sysctl}/neigh/default/gc_thresh3")
        entries = last.get("entries", NAN)
        rates = (
            number_or_none(counter_rate(first.get(name, NAN), last.get(name, NAN), elapsed_s))
            for name in ("table_fulls", "unresolved_discards", "lookups", "forced_gc_runs")
        )
        share = number_or_none(compute_pct(entries, limit))
        yield (family, count_or_none(entries), count_or_none(limit), share, *rates), snapshots[-1].line + 1


def _sum_columns(snapshot: Snapshot) -> dict[str, float]:
    """Each counter over all CPUs; `entries` is of the whole table on each of them."""
    header, *rows = snapshot.lines()[:8_192] or [b""]
    names = [name.decode("ascii", "replace") for name in header.split()[:40]]
    results: dict[str, float] = {}
    for row in rows:
        for name, token in zip(names, row.split(), strict=False):
            value = parse_hexadecimal(token)
            results[name] = value if name == "entries" else results.get(name, 0.0) + value
    return results


COLLECTOR = Collector(
    id="net_limits",
    title=Text("Limits of the network", "网络限额"),
    why=Text(
        "A full neighbor table, socket memory or TIME_WAIT table drops packets without an error of any card.",
        "邻居表、套接字内存或 TIME_WAIT 表已满时会丢包，而网卡没有任何错误计数。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc",
            Needs(files=("/proc/net/sockstat",), remedy="mount -t proc proc /proc"),
            files=(
                "/proc/net/sockstat",
                *(f"/proc/net/stat/{file}" for _, file, _ in _TABLES),
                *(f"{sysctl}/neigh/default/gc_thresh3" for _, _, sysctl in _TABLES),
                *(
                    f"{_V4}/{name}"
                    for name in ("tcp_mem", "udp_mem", "tcp_max_orphans", "tcp_max_tw_buckets")
                ),
            ),
            once=True,
        ),
    ),
    parse=parse_net_limits,
    cost=Cost(0.01, 100, Text("Ten small files, read twice.", "十个小文件，读取两次。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
