"""Segments that were sent again, and whether this host itself threw them away; packets that found no CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.measures.network.drops import UNCOUNTED_RULE, read_cell
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, ViewSeries

_OWN = (
    *("net.rx_drop_per_s", "net.tx_drop_per_s", "net.rx_err_per_s", "net.tx_err_per_s"),
    *("net.rx_fifo_per_s", "net.ip_in_discards_per_s", "net.ip_out_discards_per_s"),
    *("softnet.dropped_per_s", "conntrack.drops_per_s", "conntrack.early_drops_per_s"),
    *(
        "tcp.listen_overflows_per_s",
        "tcp.listen_drops_per_s",
        "tcp.backlog_drop_per_s",
        "tcp.rcvq_drop_per_s",
    ),
)
_SOURCES = (("qdisc",), ("firewall",), ("net_dev",), ("softnet",), ("snmp",), ("netstat_ext",))


def _cite(series: ViewSeries) -> Citation:
    """The last of its lines that has a number."""
    if series.lines is None or not len(series.lines):
        return series.citation
    citation = series.citation
    return Citation(
        citation.run, citation.collector, citation.artifact, citation.part, (int(series.lines[-1]),)
    )


def read_rate(view: HostView, metric: str) -> tuple[float, tuple[Citation, ...]]:
    """The mean of a rate, added up over all its series and columns, and where it was read; nought without any."""
    total, cites = 0.0, []
    for series in view.series_of(metric):
        if series.labels.get("dev") == "lo" or not np.isfinite(series.values).any():
            continue
        total += float(np.nansum(np.nanmean(series.values, axis=0)))
        cites.append(_cite(series))
    return total, tuple(cites)


def _data_retransmits(view: HostView) -> tuple[float, float, tuple[Citation, ...]]:
    """Segments with data sent again a second, their share in percent, and where that was read.

    Handshakes sent again are left out: a peer that does not accept makes those, with nothing lost on the way.
    """
    again, cites = read_rate(view, "tcp.retrans_segs_per_s")
    handshakes, more = read_rate(view, "tcp.syn_retrans_per_s")
    sent, _ = read_rate(view, "tcp.out_segs_per_s")
    data = max(0.0, again - handshakes)
    return data, 100.0 * data / (sent + data) if sent + data > 0 else 0.0, (*cites, *more)


def _data_pct(view: HostView) -> Sequence[Measurement]:
    data, share, cites = _data_retransmits(view)
    if not cites:
        return ()
    doubts: tuple[Sentence, ...] = ()
    if any(row.number("packets_total") is None for row in view.rows("firewall_rules")):
        doubts = (UNCOUNTED_RULE,)
    detail = {"per_s": round(data, 1)}
    return (Measurement(share, (), cites, int(data * max(view.seconds, 1.0)), doubts, detail),)


def _data_rate(view: HostView) -> Sequence[Measurement]:
    data, _, cites = _data_retransmits(view)
    return (Measurement(data, (), cites),) if cites else ()


def _per_handshake(view: HostView) -> Sequence[Measurement]:
    """How the share of data sent again compares with that of handshakes: about 1 where packets get lost at random."""
    _, share, cites = _data_retransmits(view)
    again, more = read_rate(view, "tcp.syn_retrans_per_s")
    opened = read_rate(view, "tcp.active_opens_per_s")[0] + read_rate(view, "tcp.passive_opens_per_s")[0]
    handshakes = 100.0 * again / (opened + again) if opened + again > 0 else 0.0
    if not cites:
        return ()
    return (Measurement(share / handshakes if handshakes > 0 else 100.0, (), (*cites, *more)),)


def own_drops(view: HostView) -> tuple[float, str, tuple[Citation, ...]]:
    """Packets a second that this host is known to have thrown away, what dropped most, and where that was read."""
    counted = {metric: read_rate(view, metric) for metric in _OWN}
    per_s = {metric: value for metric, (value, _) in counted.items()}
    cites = [citation for _, result in counted.values() for citation in result[:1]]
    queues = [(read_cell(row, "drops_per_s"), row.citation) for row in view.rows("qdiscs")]
    rules = [
        (read_cell(row, "packets_per_s"), row.citation)
        for row in view.rows("firewall_rules")
        if row.text("verdict") != "RANDOM"
    ]
    for name, result in (("qdisc", queues), ("firewall", rules)):
        per_s[name] = sum(value for value, _ in result)
        cites += [citation for _, citation in result[:1]]
    most = max(per_s, key=lambda name: per_s[name])
    return sum(per_s.values()), most if per_s[most] else "-", tuple(cites)


def _own_share(view: HostView) -> Sequence[Measurement]:
    data, _, _ = _data_retransmits(view)
    dropped, most, cites = own_drops(view)
    if not cites:
        return ()
    return (Measurement(100.0 * dropped / data if data > 0 else 0.0, (), cites[:8], detail={"most": most}),)


def _by_cpu(view: HostView, metric: str) -> dict[str, tuple[float, Citation]]:
    results: dict[str, tuple[float, Citation]] = {}
    for series in view.series_of(metric):
        for at, cpu in enumerate(series.axis_values):
            if np.isfinite(series.values[:, at]).any():
                results[cpu] = float(np.nanmean(series.values[:, at])), _cite(series)
    return results


def _no_room(view: HostView) -> Iterator[Measurement]:
    """Of a thousand packets that reached a CPU, those that its backlog had no room for."""
    taken = _by_cpu(view, "softnet.processed_per_s")
    for cpu, (dropped, citation) in _by_cpu(view, "softnet.dropped_per_s").items():
        processed = taken.get(cpu, (0.0, citation))[0]
        everything = processed + dropped
        share = 1000.0 * dropped / everything if everything > 0 else 0.0
        detail = {"dropped_per_s": round(dropped, 1), "processed_per_s": round(processed)}
        yield Measurement(share, (("cpu", cpu),), (citation,), int(dropped), detail=detail)


def _no_buffer(view: HostView) -> Sequence[Measurement]:
    """UDP datagrams that found their socket's buffer full, of a thousand that came."""
    full, cites = read_rate(view, "net.udp_rcvbuf_errors_per_s")
    taken, _ = read_rate(view, "net.udp_in_per_s")
    if not cites:
        return ()
    share = 1000.0 * full / (full + taken) if full + taken > 0 else 0.0
    return (Measurement(share, (), cites, int(full), detail={"per_s": round(full, 1)}),)


def _table_full(view: HostView) -> Sequence[Measurement]:
    """Whether the kernel's log reports it. The kernel limits the rate of these lines, so the count is arbitrary."""
    message = view.events_of("conntrack_full")
    return (Measurement(1.0, (), (message[-1].citation,), len(message)),) if message else ()


def _overlay(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("overlays"):
        about = (("dev", row.text("dev")),)
        yield Measurement(
            read_cell(row, "share_pct"), about, (row.citation,), 1, detail={"kind": row.text("kind")}
        )


_TCP = (("snmp",), ("netstat_ext",))
DATA_RETRANS_PCT = Measure(
    "tcp.data_retrans_pct", "pct", Text("Data sent again", "数据重传率"), _TCP, _data_pct
)
DATA_RETRANS = Measure(
    "tcp.data_retrans_per_s", "per_s", Text("Data sent again", "数据重传速率"), _TCP, _data_rate
)
DATA_PER_HANDSHAKE = Measure(
    "tcp.data_per_handshake_retrans",
    "count",
    Text("Retransmission of data against that of handshakes", "数据与握手重传率之比"),
    _TCP,
    _per_handshake,
)
OWN_DROPS = Measure(
    "net.own_drops_per_100_retransmits",
    "count",
    Text("Own drops for a hundred retransmissions", "每百次重传中本机丢弃数"),
    _SOURCES,
    _own_share,
)
NO_ROOM = Measure(
    "softnet.drops_per_1000",
    "count",
    Text("Packets of a thousand dropped before any protocol", "每千包在协议栈前丢弃数"),
    (("softnet",),),
    lambda view: list(_no_room(view)),
)
NO_BUFFER = Measure(
    "net.udp_full_per_1000",
    "count",
    Text("UDP datagrams of a thousand that found no buffer", "每千个 UDP 报文因缓冲满丢弃数"),
    (("snmp",),),
    _no_buffer,
)
CONNTRACK_LOG = Measure(
    "kmsg.conntrack_full",
    "count",
    Text("Table full, in the kernel's log", "内核日志中的表满"),
    (("kmsg",),),
    _table_full,
)
OVERLAY_PCT = Measure(
    "net.overlay_pct",
    "pct",
    Text("Packets that are wrapped", "封装包占比"),
    (("cni_facts",),),
    lambda view: list(_overlay(view)),
)
