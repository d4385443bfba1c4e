"""The standard counters of IP, TCP and UDP, once a second."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse import named, outcome, rates, sampled
from collectors.parse.named import Yield

_PATH = "/proc/net/snmp"
_PATH6 = "/proc/net/snmp6"
_MAX_BYTES = 16 << 20

_YIELDS = (
    Yield("tcp.estab", ("Tcp.CurrEstab",), "gauge"),
    Yield("tcp.retrans_segs_per_s", ("Tcp.RetransSegs",)),
    Yield("tcp.active_opens_per_s", ("Tcp.ActiveOpens",)),
    Yield("tcp.passive_opens_per_s", ("Tcp.PassiveOpens",)),
    Yield("tcp.attempt_fails_per_s", ("Tcp.AttemptFails",)),
    Yield("tcp.estab_resets_per_s", ("Tcp.EstabResets",)),
    Yield("tcp.in_segs_per_s", ("Tcp.InSegs",)),
    Yield("tcp.out_segs_per_s", ("Tcp.OutSegs",)),
    Yield("tcp.in_errs_per_s", ("Tcp.InErrs",)),
    Yield("tcp.out_rsts_per_s", ("Tcp.OutRsts",)),
    Yield("net.ip_in_discards_per_s", ("Ip.InDiscards",)),
    Yield("net.ip_out_discards_per_s", ("Ip.OutDiscards",)),
    Yield("net.ip_in_addr_errors_per_s", ("Ip.InAddrErrors",)),
    Yield("net.ip_no_routes_per_s", ("Ip.OutNoRoutes",)),
    Yield("net.ip_reasm_fails_per_s", ("Ip.ReasmFails",)),
    Yield("net.udp_in_per_s", ("Udp.InDatagrams",)),
    Yield("net.udp_out_per_s", ("Udp.OutDatagrams",)),
    Yield("net.udp_no_ports_per_s", ("Udp.NoPorts",)),
    Yield("net.udp_in_errors_per_s", ("Udp.InErrors",)),
    Yield("net.udp_rcvbuf_errors_per_s", ("Udp.RcvbufErrors",)),
    Yield("net.udp_sndbuf_errors_per_s", ("Udp.SndbufErrors",)),
)
_YIELDS6 = (
    Yield("net.udp6_in_errors_per_s", ("Udp6InErrors",)),
    Yield("net.udp6_rcvbuf_errors_per_s", ("Udp6RcvbufErrors",)),
)


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates by name, and the share of segments that were sent again. Names: RFC 4293, RFC 4022, RFC 4113."""
    samples = sampled.read(parts, _MAX_BYTES)
    readings = sampled.tabulate(samples.of(_PATH), named.header_and_values)
    found = named.series_of(context, readings, _YIELDS)
    again, sent = (rates.deltas(readings.column(f"Tcp.{name}")) for name in ("RetransSegs", "OutSegs"))
    found += sampled.series(
        context,
        "tcp.retrans_pct",
        readings.boot_ns[1:],
        rates.share_pct(again, sent + again),
        lines=readings.line_of("Tcp.RetransSegs")[1:],
    )
    six = sampled.tabulate(samples.of(_PATH6), named.pairs)
    found += named.series_of(context, six, _YIELDS6)
    return outcome.of_series(found, samples.warnings)


COLLECTOR = Collector(
    id="snmp",
    title=Text("IP, TCP and UDP", "IP、TCP 与 UDP"),
    why=Text(
        "Retransmissions, resets, full buffers and lost routes of this network namespace.",
        "本网络命名空间的重传、复位、缓冲满与无路由。",
    ),
    tier=Tier.LIGHT,
    ways=(
        Sampled(
            "proc",
            Needs(files=(_PATH,), mend="mount -t proc proc /proc"),
            files=(_PATH, _PATH6),
            interval_s=1.0,
        ),
    ),
    parse=parse,
    cost=Cost(0.05, 5_000, Text("Two small files a second.", "每秒读取两个小文件。")),
    yields=(*(one.metric for one in (*_YIELDS, *_YIELDS6)), "tcp.retrans_pct"),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
