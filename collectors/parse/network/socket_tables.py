"""Tables of the first and the last look at a host's TCP sockets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import nan

from collectors.contract import Column, Table
from collectors.parse.network import addresses
from collectors.parse.network.socket_counts import SocketCount
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Samples, Snapshot
from collectors.parse.tables.cells import Cell, compute_pct, number_or_none
from collectors.parse.tables.tokens import parse_amount, parse_whole, to_text

_MAX_LINES = 50
_OWNER = re.compile(rb'(\d{1,9}) (\S{1,80}) (\S{1,80}) ([^"]{0,64})",pid=(\d{1,10})\Z')

_STATES = (Column("state"), Column("count_first", "count"), Column("count_last", "count"))
_DESTINATIONS = (
    *(Column("source"), Column("peer"), Column("port"), Column("established", "count")),
    *(Column("time_wait", "count"), Column("syn_sent", "count"), Column("local_ports", "count")),
    *(Column("port_use_pct", "pct"), Column("sockets", "count"), Column("sockets_first", "count")),
    Column("syn_sent_first", "count"),
)
_CLOSE_WAIT = (
    *(Column("pid"), Column("comm"), Column("local_port"), Column("peer"), Column("peer_port")),
    *(Column("count_first", "count"), Column("count_last", "count"), Column("growth_per_s", "per_s")),
)
_SOCKSTAT = (Column("protocol"), Column("name"), Column("count_first"), Column("count_last"))
_PATHS = (
    *(Column("peer"), Column("port"), Column("connections", "count"), Column("retransmitted", "count")),
    *(Column("retransmitting", "count"), Column("rto_max_ms", "ms"), Column("rtt_mean_ms", "ms")),
    Column("rtt_max_ms", "ms"),
)

Row = tuple[tuple[Cell, ...], int]


def build_tables(socket_counts: Sequence[SocketCount], samples: Samples, ports: int) -> tuple[Table, ...]:
    """`tcp_states`, `tcp_destinations`, `close_wait`, `sockstat`, `tcp_paths`: those that have rows."""
    first, last = socket_counts[0], socket_counts[-1]
    counts = samples.of("counts")
    owned = list(_build_owners(samples.of("owners"), counts[-1].tick if counts else 0))
    tables = (
        ("tcp_states", _STATES, list(_build_states(first, last))),
        ("tcp_destinations", _DESTINATIONS, list(_build_destinations(first, last, ports))),
        ("close_wait", _CLOSE_WAIT, owned or list(_build_waiting(first, last))),
        ("sockstat", _SOCKSTAT, list(_build_sockstat(samples.of("sockstat")))),
        ("tcp_paths", _PATHS, [row for snapshot in samples.of("path")[-1:] for row in _list_paths(snapshot)]),
    )
    return tuple(
        Table(kind, columns, tuple(row for row, _ in rows), sampled.PART, tuple(line for _, line in rows))
        for kind, columns, rows in tables
        if rows
    )


def _build_states(first: SocketCount, last: SocketCount) -> Iterator[Row]:
    for state in dict.fromkeys((*last.states, *first.states)):
        before, line_before = first.states.get(state, (0, 0))
        after, line = last.states.get(state, (0, line_before))
        yield (state, before, after), line


def _build_destinations(first: SocketCount, last: SocketCount, ports: int) -> Iterator[Row]:
    """`local_ports` are those within the range, because only they are chosen by the kernel and run out."""
    for key, item in last.destinations.items():
        before = first.destinations.get(key)
        yield (
            (
                *key,
                *(item.established, item.time_wait, item.syn_sent, item.ports),
                *(
                    number_or_none(compute_pct(item.ports, ports)),
                    item.sockets,
                    before.sockets if before else 0,
                    before.syn_sent if before else 0,
                ),
            ),
            item.line,
        )


def _build_waiting(first: SocketCount, last: SocketCount) -> Iterator[Row]:
    """By the local port, or by the peer for connections that were opened from here; the owner is unknown."""
    elapsed_s = (last.boot_ns - first.boot_ns) / 1e9
    for (local, peer, port), (after, line) in last.waiting.items():
        before = first.waiting.get((local, peer, port), (0, 0))[0]
        growth = (after - before) / elapsed_s if elapsed_s > 0 else nan
        yield (None, "", local, peer, port, before, after, number_or_none(growth)), line


def _build_owners(snapshots: Sequence[Snapshot], last_tick: int) -> Iterator[Row]:
    """By process, with the addresses of one of its sockets. Owners are printed only where a socket is in CLOSE-WAIT."""
    if not snapshots or snapshots[-1].tick < last_tick:
        return
    first, last = snapshots[0], snapshots[-1]
    elapsed_s = (last.boot_ns - first.boot_ns) / 1e9
    before = (
        {} if first is last and last_tick else {match[5]: int(match[1]) for match, _ in _parse_owners(first)}
    )
    for match, line in _parse_owners(last):
        local, (peer, port) = addresses.split_address(match[2])[1], addresses.split_address(match[3])
        since, now = before.get(match[5], 0), int(match[1])
        growth = (now - since) / elapsed_s if elapsed_s > 0 else nan
        yield (
            (int(match[5]), to_text(match[4], 64), local, peer, port, since, now, number_or_none(growth)),
            line,
        )


def _parse_owners(snapshot: Snapshot) -> Iterator[tuple[re.Match[bytes], int]]:
    for at, line in enumerate(snapshot.lines()[:_MAX_LINES], snapshot.line):
        if match := _OWNER.match(line[:400]):
            yield match, at


def _build_sockstat(snapshots: Sequence[Snapshot]) -> Iterator[Row]:
    """`TCP: inuse 6 orphan 0 tw 63 alloc 7 mem 0` of /proc/net/sockstat; `mem` is in pages."""
    ends = [dict(_read_named(snapshot)) for snapshot in (*snapshots[:1], *snapshots[-1:])]
    for key, (after, line) in (ends[-1] if ends else {}).items():
        before = ends[0].get(key)
        yield (*key, before[0] if before else None, after), line


def _read_named(snapshot: Snapshot) -> Iterator[tuple[tuple[str, str], tuple[int, int]]]:
    for at, line in enumerate(snapshot.lines()[:_MAX_LINES], snapshot.line):
        tokens = line[:300].split()
        for name, value in zip(tokens[1::2], tokens[2::2], strict=False):
            number = parse_whole(value)
            if number is not None:
                yield (to_text(tokens[0].rstrip(b":"), 16), to_text(name, 16)), (number, at)


def _list_paths(snapshot: Snapshot) -> Iterator[Row]:
    """`PEER CONNECTIONS RETRANSMITTED RETRANSMITTING RTO_MAX RTT_MEAN RTT_MAX`, times in milliseconds."""
    for at, line in enumerate(snapshot.lines()[:_MAX_LINES], snapshot.line):
        tokens = line[:400].split()
        counts = [parse_whole(token) for token in tokens[1:4]]
        if len(tokens) == 7 and None not in counts:
            peer, port = addresses.split_address(tokens[0])
            yield (peer, port, *counts, *(number_or_none(parse_amount(token)) for token in tokens[4:])), at
