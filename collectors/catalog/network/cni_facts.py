"""Tunnels and overlays: which devices wrap packets, and how many of the packets they carry."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.net_shell import PRELUDE
from collectors.parse import ip_links, json_rows, netns, sampled
from collectors.parse.cells import Cell, count, known, pct
from collectors.parse.ip_links import Link, Watched
from collectors.parse.tokens import NAN

_MAX_BYTES = 16 << 20
#: Bytes that a kind puts in front of each packet: outer IPv4 20, UDP 8, the tunnel's own header, inner Ethernet 14.
_HEADER_BYTES: Mapping[str, int] = {
    "ipip": 20,
    "sit": 20,
    "gre": 24,
    "gretap": 38,
    "vxlan": 50,
    "geneve": 50,
    "wireguard": 60,
    "ip6tnl": 40,
    "ip6gre": 44,
    "ip6gretap": 58,
    "vti": 20,
    "fou": 28,
    "xfrm": 0,
}

_SH = PRELUDE + ip_links.SHELL + '\nlinks 0\nnap "$SECS"\nlinks 1\n'

_COLUMNS = (
    *(Column("dev"), Column("kind"), Column("state"), Column("mtu", "bytes")),
    *(Column("header_bytes", "bytes"), Column("underlay"), Column("underlay_mtu", "bytes")),
    *(Column("id"), Column("remote")),
    *(Column("rx_packets_per_s", "packets_per_s"), Column("tx_packets_per_s", "packets_per_s")),
    *(Column("share_pct", "pct"), Column("tx_errors_per_s", "packets_per_s")),
    *(Column("tx_dropped_per_s", "packets_per_s"), Column("packets_total", "count")),
)


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each device that wraps packets; the kinds as a fact, empty where there is none.

    `share_pct` is of the packets of all devices that wrap nothing, except the loopback: on a node whose
    every packet is wrapped it nears 100.
    """
    samples = sampled.read(parts, _MAX_BYTES)
    facts, warnings = netns.seen(samples)
    watched = ip_links.watched(samples)
    if watched is None or not watched.last:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    overlays = [one for one in watched.last.values() if one.kind in _HEADER_BYTES]
    carriers = _carriers(watched)
    carried = sum(rate for one in carriers if isfinite(rate := _packets(watched, one)))
    rows = tuple(_row(watched, one, carried) for one in overlays)
    lines = tuple(one.line for one in overlays)
    tables = (Table("overlays", _COLUMNS, rows, sampled.PART, lines),) if rows else ()
    kinds = sorted({one.kind for one in overlays})
    return Parsed(tables=tables, facts={**facts, "overlay_kinds": kinds}, warnings=warnings)


def _carriers(watched: Watched) -> list[Link]:
    """What carries packets out: network cards (they have no kind), or where there is none, all that wraps nothing."""
    plain = [one for one in watched.last.values() if one.kind not in _HEADER_BYTES and not one.loopback]
    return [one for one in plain if not one.kind] or plain


def _packets(watched: Watched, one: Link) -> float:
    return watched.rate(one.name, "rx", "packets") + watched.rate(one.name, "tx", "packets")


def _row(watched: Watched, one: Link, carried: float) -> tuple[Cell, ...]:
    under = json_rows.text(one.data, "link") or one.peer
    underlay = watched.last.get(under)
    number = json_rows.number(one.data, "id")
    total = json_rows.number(one.rx, "packets") + json_rows.number(one.tx, "packets")
    return (
        *(one.name, one.kind, one.state, count(one.mtu), _HEADER_BYTES[one.kind]),
        *(under, count(underlay.mtu if underlay else NAN), count(number)),
        json_rows.text(one.data, "remote") or json_rows.text(one.data, "remote6"),
        *(known(watched.rate(one.name, side, "packets")) for side in ("rx", "tx")),
        known(pct(_packets(watched, one), carried)),
        *(known(watched.rate(one.name, "tx", name)) for name in ("errors", "dropped")),
        count(total),
    )


COLLECTOR = Collector(
    id="cni_facts",
    title=Text("Tunnels and overlays", "隧道与覆盖网络"),
    why=Text(
        "Wrapping packets costs CPU and takes bytes from each: does this host do it, and for how many?",
        "封装会消耗 CPU 并占用每个包的字节：本机是否在封装、占多大比例？",
    ),
    tier=Tier.LIGHT,
    ways=(
        Script(
            "ip",
            Needs(tools=("ip",), mend="iproute2"),
            sh=_SH,
            shows="ip -s -s -d -j link, now and after {seconds} s, in the target's network namespace",
            version="ip -V",
            stop="TERM",
        ),
    ),
    parse=parse,
    cost=Cost(0.1, 1_000, Text("One short command, twice.", "一条短命令，执行两次。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
