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
from collectors.parse.network import ip_links, namespaces
from collectors.parse.network.ip_links import LinkReadings, NetworkLink
from collectors.parse.proc import sampled
from collectors.parse.tables import json_rows
from collectors.parse.tables.cells import Cell, compute_pct, count_or_none, number_or_none
from collectors.parse.tables.tokens import NAN
from collectors.shell.network import LINKS_SH, LINKS_SHARE

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

_COLUMNS = (
    *(Column("dev"), Column("kind"), Column("state"), Column("mtu", "bytes")),
    *(Column("header_bytes", "bytes"), Column("underlay"), Column("underlay_mtu", "bytes")),
    *(Column("id"), Column("remote")),
    *(Column("rx_packets_per_s", "packets_per_s"), Column("tx_packets_per_s", "packets_per_s")),
    *(Column("share_pct", "pct"), Column("tx_errors_per_s", "packets_per_s")),
    *(Column("tx_dropped_per_s", "packets_per_s"), Column("packets_total", "count")),
)


def parse_cni_facts(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each device that wraps packets; the kinds as a fact, empty where there is none.

    `share_pct` is of the packets of all devices that wrap nothing, except the loopback: on a node whose
    every packet is wrapped it nears 100.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    facts, warnings = namespaces.read_namespace(samples)
    watched = ip_links.pair_readings(samples)
    if watched is None or not watched.last:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    overlays = [item for item in watched.last.values() if item.kind in _HEADER_BYTES]
    carriers = _read_carriers(watched)
    total_packets = sum(rate for carrier in carriers if isfinite(rate := _read_packets(watched, carrier)))
    rows = tuple(_build_row(watched, overlay, total_packets) for overlay in overlays)
    lines = tuple(overlay.line for overlay in overlays)
    tables = (Table("overlays", _COLUMNS, rows, sampled.PART, lines),) if rows else ()
    kinds = sorted({overlay.kind for overlay in overlays})
    return Parsed(tables=tables, facts={**facts, "overlay_kinds": kinds}, warnings=warnings)


def _read_carriers(watched: LinkReadings) -> list[NetworkLink]:
    """What carries packets out: network cards (they have no kind), or where there is none, all that wraps nothing."""
    plain = [item for item in watched.last.values() if item.kind not in _HEADER_BYTES and not item.loopback]
    return [item for item in plain if not item.kind] or plain


def _read_packets(watched: LinkReadings, network_link: NetworkLink) -> float:
    return watched.rate(network_link.name, "rx", "packets") + watched.rate(network_link.name, "tx", "packets")


def _build_row(watched: LinkReadings, network_link: NetworkLink, total_packets: float) -> tuple[Cell, ...]:
    under = json_rows.get_text(network_link.data, "link") or network_link.peer
    underlay = watched.last.get(under)
    number = json_rows.get_number(network_link.data, "id")
    total = json_rows.get_number(network_link.rx, "packets") + json_rows.get_number(
        network_link.tx, "packets"
    )
    return (
        *(
            network_link.name,
            network_link.kind,
            network_link.state,
            count_or_none(network_link.mtu),
            _HEADER_BYTES[network_link.kind],
        ),
        *(under, count_or_none(underlay.mtu if underlay else NAN), count_or_none(number)),
        json_rows.get_text(network_link.data, "remote") or json_rows.get_text(network_link.data, "remote6"),
        *(number_or_none(watched.rate(network_link.name, side, "packets")) for side in ("rx", "tx")),
        number_or_none(compute_pct(_read_packets(watched, network_link), total_packets)),
        *(number_or_none(watched.rate(network_link.name, "tx", name)) for name in ("errors", "dropped")),
        count_or_none(total),
    )


COLLECTOR = Collector(
    id="cni_facts",
    title=Text("Tunnels and overlays", "隧道与覆盖网络"),
    why=Text(
        "Wrapping packets costs CPU and takes bytes from each: does this host do it, and for how many?",
        "封装会消耗 CPU 并占用每个包的字节：本机是否在封装、占多大比例？",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "ip",
            Needs(tools=("ip",), remedy="iproute2"),
            sh=LINKS_SH,
            share=LINKS_SHARE,
            command_line="ip -s -s -d -j link, now and after {seconds} s, in the target's network namespace",
            version="ip -V",
            stop="TERM",
        ),
    ),
    parse=parse_cni_facts,
    cost=Cost(0.1, 1_000, Text("One short command, run twice.", "一条短命令，执行两次。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
