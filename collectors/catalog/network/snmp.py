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
from collectors.parse.proc import named_numbers, sampled
from collectors.parse.proc.named_numbers import MetricSource
from collectors.parse.tables import rates, results

_PATH = "/proc/net/snmp"
_PATH6 = "/proc/net/snmp6"
_MAX_BYTES = 16 << 20

_YIELDS = (
    MetricSource("tcp.estab", ("Tcp.CurrEstab",), "gauge"),
    MetricSource("tcp.retrans_segs_per_s", ("Tcp.RetransSegs",)),
    MetricSource("tcp.active_opens_per_s", ("Tcp.ActiveOpens",)),
    MetricSource("tcp.passive_opens_per_s", ("Tcp.PassiveOpens",)),
    MetricSource("tcp.attempt_fails_per_s", ("Tcp.AttemptFails",)),
    MetricSource("tcp.estab_resets_per_s", ("Tcp.EstabResets",)),
    MetricSource("tcp.in_segs_per_s", ("Tcp.InSegs",)),
    MetricSource("tcp.out_segs_per_s", ("Tcp.OutSegs",)),
    MetricSource("tcp.in_errs_per_s", ("Tcp.InErrs",)),
    MetricSource("tcp.out_rsts_per_s", ("Tcp.OutRsts",)),
    MetricSource("net.ip_in_discards_per_s", ("Ip.InDiscards",)),
    MetricSource("net.ip_out_discards_per_s", ("Ip.OutDiscards",)),
    MetricSource("net.ip_in_addr_errors_per_s", ("Ip.InAddrErrors",)),
    MetricSource("net.ip_no_routes_per_s", ("Ip.OutNoRoutes",)),
    MetricSource("net.ip_reasm_fails_per_s", ("Ip.ReasmFails",)),
    MetricSource("net.udp_in_per_s", ("Udp.InDatagrams",)),
    MetricSource("net.udp_out_per_s", ("Udp.OutDatagrams",)),
    MetricSource("net.udp_no_ports_per_s", ("Udp.NoPorts",)),
    MetricSource("net.udp_in_errors_per_s", ("Udp.InErrors",)),
    MetricSource("net.udp_rcvbuf_errors_per_s", ("Udp.RcvbufErrors",)),
    MetricSource("net.udp_sndbuf_errors_per_s", ("Udp.SndbufErrors",)),
)
_YIELDS6 = (
    MetricSource("net.udp6_in_errors_per_s", ("Udp6InErrors",)),
    MetricSource("net.udp6_rcvbuf_errors_per_s", ("Udp6RcvbufErrors",)),
)


def parse_snmp(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates by name, and the share of segments that were sent again. Names: RFC 4293, RFC 4022, RFC 4113."""
    samples = sampled.read_samples(parts, _MAX_BYTES)
    readings = sampled.tabulate_readings(samples.of(_PATH), named_numbers.read_header_and_values)
    named_series = named_numbers.build_named_series(context, readings, _YIELDS)
    again, sent = (
        rates.compute_deltas(readings.column(f"Tcp.{name}")) for name in ("RetransSegs", "OutSegs")
    )
    named_series += sampled.build_series(
        context,
        "tcp.retrans_pct",
        readings.boot_ns[1:],
        rates.compute_share_pct(again, sent + again),
        lines=readings.line_of("Tcp.RetransSegs")[1:],
    )
    six = sampled.tabulate_readings(samples.of(_PATH6), named_numbers.read_pairs)
    named_series += named_numbers.build_named_series(context, six, _YIELDS6)
    return results.build_series_result(named_series, samples.warnings)


COLLECTOR = Collector(
    id="snmp",
    title=Text("IP, TCP and UDP", "IP、TCP 与 UDP"),
    why=Text(
        "Retransmissions, resets, full buffers and lost routes of this network namespace.",
        "本网络命名空间的重传、复位、缓冲满与无路由。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc",
            Needs(files=(_PATH,), remedy="mount -t proc proc /proc"),
            files=(_PATH, _PATH6),
            interval_s=1.0,
        ),
    ),
    parse=parse_snmp,
    cost=Cost(0.05, 5_000, Text("Two small files a second.", "每秒读取两个小文件。")),
    yields=(*(item.metric for item in (*_YIELDS, *_YIELDS6)), "tcp.retrans_pct"),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
