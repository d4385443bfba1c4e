"""Segments that were sent again, and whether this host itself threw them away; packets that found no CPU."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Reading
from culprit.domain.rules.intervals import Interval, estimate_event_share, estimate_share
from culprit.domain.rules.measures.derived import cite_rows, merge_citations
from culprit.domain.rules.measures.network.drops import UNCOUNTED_RULE, measure_event_share, read_cell
from culprit.domain.rules.measures.network.rates import EventRate, list_column_rates, read_event_rate
from culprit.domain.rules.measures.service_time.services import normalize_target
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: Counters of packets of any connection that this host drops.
PATH_DROPS = (
    *("net.rx_drop_per_s", "net.tx_drop_per_s", "net.rx_err_per_s", "net.tx_err_per_s"),
    *("net.rx_fifo_per_s", "net.ip_in_discards_per_s", "net.ip_out_discards_per_s"),
    *("softnet.dropped_per_s", "conntrack.drops_per_s", "conntrack.early_drops_per_s"),
    *("tcp.backlog_drop_per_s", "tcp.rcvq_drop_per_s", "net.reverse_path_drops_per_s"),
)
_OWN = (*PATH_DROPS, "tcp.listen_overflows_per_s", "tcp.listen_drops_per_s")
#: Handshakes are counted at the start and the end of a capture.
_SNAPSHOTS = 2
#: The ratio where data was retransmitted and no handshake was: far above that of random loss.
NO_HANDSHAKE_LOST = 100.0
#: What shows the drops of a host.
SOURCES = (("qdisc",), ("firewall",), ("net_dev",), ("softnet",), ("snmp",), ("netstat_ext",))


def read_data_retransmits(view: HostView) -> tuple[EventRate, float]:
    """Return the segments with data that were retransmitted, and how many segments were sent with them.

    Handshakes sent again are left out: a peer that does not accept makes those, with nothing lost on the way.
    """
    again = read_event_rate(view, "tcp.retrans_segs_per_s")
    handshakes = read_event_rate(view, "tcp.syn_retrans_per_s")
    sent = read_event_rate(view, "tcp.out_segs_per_s")
    citations = merge_citations((*again.citations, *handshakes.citations, *sent.citations))
    value, count = max(0.0, again.value - handshakes.value), max(0.0, again.count - handshakes.count)
    seen = bool(again.citations or handshakes.citations)
    return EventRate(value, count, again.seconds, citations if seen else ()), sent.count + count


def _data_pct(view: HostView) -> Sequence[Measurement]:
    data, total = read_data_retransmits(view)
    if not data.citations:
        return ()
    doubts: tuple[Sentence, ...] = ()
    if any(row.number("packets_total") is None for row in view.rows("firewall_rules")):
        doubts = (UNCOUNTED_RULE,)
    detail = {"per_s": round(data.value, 1)}
    return (measure_event_share(data.count, total, (), data.citations, 100.0, doubts, detail),)


def _least_growth(view: HostView) -> Reading:
    """Return the lower bound of the share of segments sent again, as a multiple of that in the baseline."""
    before = view.baseline
    (data, total), (then, total_then) = (
        read_data_retransmits(item) if item is not None else (EventRate(), 0.0) for item in (view, before)
    )
    if not then.citations:
        return MissingData(Sentence("missing.no_baseline", {"measure": LEAST_GROWTH.id}))
    high = estimate_event_share(then.count, total_then).high
    if not data.citations or then.count <= 0 or high <= 0:
        return ()
    share, earlier = (
        100.0 * item.count / whole if whole > 0 else 0.0
        for item, whole in ((data, total), (then, total_then))
    )
    detail = {"now": round(share, 2), "before": round(earlier, 2)}
    value = estimate_event_share(data.count, total).low / high
    cites = merge_citations((*data.citations, *then.citations))
    return (Measurement(value, (), cites, round(data.count), (), detail),)


def _received_twice(view: HostView) -> Sequence[Measurement]:
    """Percent of the retransmitted segments with data that peers report to have received twice; 0 without reports."""
    data, _ = read_data_retransmits(view)
    late = read_event_rate(view, "tcp.dsack_recv_per_s")
    if not data.citations or data.count <= 0:
        return ()
    cites = merge_citations((*data.citations, *late.citations))
    return (measure_event_share(min(late.count, data.count), data.count, (), cites, 100.0),)


def _per_handshake(view: HostView) -> Sequence[Measurement]:
    """How the share of data sent again compares with that of handshakes: about 1 where packets get lost at random."""
    data, total = read_data_retransmits(view)
    again, opened = _handshake_retransmits(view)
    if not data.citations:
        return ()
    share = 100.0 * data.count / total if total > 0 else 0.0
    handshakes = 100.0 * again.count / opened if opened > 0 else 0.0
    of_data, of_handshakes = (
        estimate_event_share(data.count, total),
        estimate_event_share(again.count, opened),
    )
    high = of_data.high / of_handshakes.low if of_handshakes.low > 0 else math.inf
    interval = Interval("events", of_data.low / of_handshakes.high, high)
    value = share / handshakes if handshakes > 0 else NO_HANDSHAKE_LOST
    citations = merge_citations((*data.citations, *again.citations))
    return (Measurement(value, (), citations, round(opened), interval=interval),)


def _handshake_retransmits(view: HostView) -> tuple[EventRate, float]:
    """Return the retransmitted SYN and SYN-ACK packets, and how many handshakes began with them."""
    again = read_event_rate(view, "tcp.syn_retrans_per_s")
    opened = read_event_rate(view, "tcp.active_opens_per_s", "tcp.passive_opens_per_s")
    citations = merge_citations((*again.citations, *opened.citations)) if again.citations else ()
    return replace(again, citations=citations), opened.count + again.count


def _handshake_pct(view: HostView) -> Sequence[Measurement]:
    again, total = _handshake_retransmits(view)
    if not again.citations:
        return ()
    detail = {"per_s": round(again.value, 2)}
    return (measure_event_share(again.count, total, (), again.citations, 100.0, (), detail),)


def _handshakes_waiting(view: HostView) -> Iterator[Measurement]:
    """Percent of the connections to a peer which wait for the network that are still in their handshake.

    Packets of a handshake are small and repeated after one second (RFC 6298), those with data sooner. So where both
    get lost alike, a peer to which each request opens a connection shows many handshakes. Peers to which fewer
    connections were opened than have data unacknowledged are left out: their handshakes may be long ago.
    """
    unsent: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("tcp_waits"):
        if row.text("direction") == "out" and row.number("unsent"):
            unsent[normalize_target(row.text("peer"))].append(row)
    for destination in view.rows("tcp_destinations"):
        peer = normalize_target(f"{destination.text('peer')}:{destination.text('port')}")
        stuck = sum(row.number("unsent") or 0.0 for row in unsent.get(peer, ()))
        opened = (destination.number("sockets") or 0.0) - (destination.number("sockets_first") or 0.0)
        if stuck > 0 and opened >= stuck:
            handshakes = sum(destination.number(name) or 0.0 for name in ("syn_sent", "syn_sent_first"))
            count = handshakes + _SNAPSHOTS * stuck
            share = handshakes / count
            cites = cite_rows(unsent[peer], [destination])
            yield Measurement(
                100.0 * share, (("dst", peer),), cites, round(count), interval=estimate_share(share, count)
            )


def own_drops(view: HostView) -> tuple[float, str, tuple[Citation, ...]]:
    """Packets a second that this host is known to have thrown away, what dropped most, and where that was read."""
    counted = {metric: read_event_rate(view, metric) for metric in _OWN}
    per_s = {metric: rate.value for metric, rate in counted.items()}
    cites = [citation for rate in counted.values() for citation in rate.citations]
    rules = [row for row in view.rows("firewall_rules") if row.text("verdict") != "RANDOM"]
    for name, column, rows in (
        ("qdisc", "drops_per_s", view.rows("qdiscs")),
        ("firewall", "packets_per_s", rules),
    ):
        per_s[name] = sum(read_cell(row, column) for row in rows)
        cites += [row.citation for row in rows]
    most = max(per_s, key=lambda name: per_s[name])
    return sum(per_s.values()), most if per_s[most] else "-", merge_citations(cites)


def _own_share(view: HostView) -> Sequence[Measurement]:
    data, _ = read_data_retransmits(view)
    dropped, most, cites = own_drops(view)
    if not cites:
        return ()
    share = 100.0 * dropped / data.value if data.value > 0 else 0.0
    cites = merge_citations((*cites, *data.citations))
    return (Measurement(share, (), cites, round(data.count), detail={"most": most}),)


def _no_room(view: HostView) -> Iterator[Measurement]:
    """Of a thousand packets that reached a CPU, those that its backlog had no room for."""
    taken = _by_cpu(view, "softnet.processed_per_s")
    for cpu, dropped in _by_cpu(view, "softnet.dropped_per_s").items():
        processed = taken.get(cpu, EventRate())
        detail = {"dropped_per_s": round(dropped.value, 1), "processed_per_s": round(processed.value)}
        cites = merge_citations((*dropped.citations, *processed.citations))
        total = processed.count + dropped.count
        yield measure_event_share(dropped.count, total, (("cpu", cpu),), cites, 1000.0, (), detail)


def _by_cpu(view: HostView, metric: str) -> dict[str, EventRate]:
    return dict(pair for series in view.series_of(metric) for pair in list_column_rates(view, series))


def _no_buffer(view: HostView) -> Sequence[Measurement]:
    """UDP datagrams that found their socket's buffer full, of a thousand that came."""
    full, taken = (
        read_event_rate(view, metric) for metric in ("net.udp_rcvbuf_errors_per_s", "net.udp_in_per_s")
    )
    if not full.citations:
        return ()
    cites = merge_citations((*full.citations, *taken.citations))
    detail = {"per_s": round(full.value, 1)}
    return (measure_event_share(full.count, full.count + taken.count, (), cites, 1000.0, (), detail),)


def _device_drops(view: HostView) -> Iterator[Measurement]:
    """Of a hundred packets that reached a device, those that it dropped."""
    received = _by_device(view, "net.rx_pps")
    for dev, dropped in _by_device(view, "net.rx_drop_per_s").items():
        taken = received.get(dev, EventRate())
        cites = merge_citations((*dropped.citations, *taken.citations))
        total = taken.count + dropped.count
        yield measure_event_share(dropped.count, total, (("dev", dev),), cites, 100.0)


def _by_device(view: HostView, metric: str) -> dict[str, EventRate]:
    return {
        series.labels["dev"]: rate
        for series in view.series_of(metric)
        if series.labels.get("dev") not in {None, "lo"}
        for _, rate in list_column_rates(view, series)
    }


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
LEAST_GROWTH = Measure(
    "tcp.data_retrans_ratio_least", "ratio", Text("Least data sent again against the baseline", "重传率与基线之比"),
    _TCP, _least_growth,
)  # fmt: skip
RECEIVED_TWICE = Measure(
    "tcp.received_twice_pct", "pct", Text("Retransmitted without need", "无谓重传"), _TCP, _received_twice
)
HANDSHAKE_RETRANS_PCT = Measure(
    "tcp.handshake_retrans_pct", "pct", Text("Handshakes sent again", "握手重传率"), _TCP, _handshake_pct
)
DATA_PER_HANDSHAKE = Measure(
    "tcp.data_per_handshake_retrans",
    "count",
    Text("Retransmission of data against that of handshakes", "数据与握手重传率之比"),
    _TCP,
    _per_handshake,
)
HANDSHAKES_WAITING = Measure(
    "peer.handshakes_of_stuck_pct",
    "pct",
    Text("Waiting connections that are in their handshake", "等待网络的连接中处于握手的占比"),
    (("tcp_waits",), ("ss",)),
    lambda view: list(_handshakes_waiting(view)),
)
OWN_DROPS = Measure(
    "net.own_drops_per_100_retransmits",
    "count",
    Text("Own drops for a hundred retransmissions", "每百次重传中本机丢弃数"),
    SOURCES,
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
DEVICE_DROP_PCT = Measure(
    "net.device_drop_pct",
    "pct",
    Text("Packets that a device dropped", "网卡丢包率"),
    (("net_dev",),),
    lambda view: list(_device_drops(view)),
)
