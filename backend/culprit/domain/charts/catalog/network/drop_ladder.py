"""Chart of packet losses at each layer between the wire and the program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence, Text
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.ladder import Ladder, LayerState, NetworkLayer, PacketLoss
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import compute_rate, format_address, make_figure, read_figure
from culprit.domain.rules.view import HostView, request_view

MAX_LOSSES = 5
TITLE = Text("Where packets are lost", "丢包发生在哪一层")
Tone = Literal["warn", "bad"]
_SEVERITY: dict[str, int] = {"good": 0, "warn": 1, "bad": 2}
#: Firewall verdicts that drop a packet.
_DROP_VERDICTS = frozenset({"DROP", "REJECT", "TARPIT"})
#: Driver counters of packets for which the receive ring had no space or buffer.
_RING_COUNTERS = re.compile(
    r"rx.*(drop|discard|miss|no_?(buf|desc|rsc)|fifo|overrun|out_of_buf)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Counter:
    """A metric that counts losses; `warn` if it counts only effects of losses."""

    metric: str
    label: Text
    tone: Tone = "bad"


@dataclass(frozen=True, slots=True)
class _LayerSpec:
    """One layer: its collectors, its loss counters, and the metric of the traffic through it (`passing`)."""

    id: str
    label: Text
    collectors: tuple[str, ...]
    counters: tuple[_Counter, ...] = ()
    passing: str = ""


_LAYERS = (
    _LayerSpec(
        "nic",
        Text("network device", "网卡"),
        ("net_dev", "links"),
        (
            _Counter("net.rx_err_per_s", Text("received with errors", "接收错误")),
            _Counter("net.tx_err_per_s", Text("could not be sent", "发送错误")),
            _Counter("net.tx_drop_per_s", Text("dropped on sending", "发送丢弃")),
        ),
        "net.rx_pps",
    ),
    _LayerSpec(
        "ring",
        Text("receive ring", "接收环"),
        ("net_dev", "links"),
        (
            _Counter("net.rx_fifo_per_s", Text("the ring was full", "接收环已满")),
            _Counter("net.rx_drop_per_s", Text("dropped on receipt", "接收丢弃")),
        ),
    ),
    _LayerSpec(
        "softnet",
        Text("softnet queue", "softnet 队列"),
        ("softnet",),
        (
            _Counter("softnet.dropped_per_s", Text("a CPU's queue was full", "CPU 队列已满")),
            _Counter("softnet.squeezed_per_s", Text("stopped with work left", "预算用尽仍有包"), "warn"),
        ),
        "softnet.processed_per_s",
    ),
    _LayerSpec("qdisc", Text("queueing discipline", "qdisc 排队规则"), ("qdisc",)),
    _LayerSpec("netfilter", Text("firewall", "netfilter 防火墙"), ("firewall",)),
    _LayerSpec(
        "conntrack",
        Text("connection tracking", "conntrack 连接跟踪"),
        ("conntrack",),
        (
            _Counter("conntrack.drops_per_s", Text("the table was full", "跟踪表已满")),
            _Counter("conntrack.early_drops_per_s", Text("thrown out for new ones", "为新连接让位")),
            _Counter("conntrack.insert_failed_per_s", Text("could not be entered", "插入失败")),
        ),
    ),
    _LayerSpec(
        "ip",
        Text("IP", "IP 层"),
        ("snmp",),
        (
            _Counter("net.ip_in_discards_per_s", Text("discarded on receipt", "输入丢弃")),
            _Counter("net.ip_out_discards_per_s", Text("discarded on sending", "输出丢弃")),
            _Counter("net.ip_no_routes_per_s", Text("no route", "无路由")),
            _Counter("net.ip_in_addr_errors_per_s", Text("for an address not here", "地址错误")),
            _Counter("net.ip_reasm_fails_per_s", Text("fragments not put together", "分片重组失败")),
        ),
    ),
    _LayerSpec(
        "tcp",
        Text("TCP", "TCP 层"),
        ("snmp", "netstat_ext"),
        (
            _Counter("tcp.in_errs_per_s", Text("bad segments", "错误报文段")),
            _Counter("tcp.backlog_drop_per_s", Text("backlog of a socket full", "套接字 backlog 已满")),
            _Counter("tcp.zero_window_drop_per_s", Text("beyond a closed window", "零窗口丢弃")),
            _Counter("tcp.abort_on_memory_per_s", Text("closed for want of memory", "内存不足中止")),
            _Counter("tcp.syn_retrans_per_s", Text("SYN sent again", "SYN 重传"), "warn"),
            _Counter("tcp.retrans_segs_per_s", Text("segments sent again", "重传报文段"), "warn"),
        ),
        "tcp.in_segs_per_s",
    ),
    _LayerSpec(
        "socket",
        Text("sockets", "套接字"),
        ("netstat_ext", "snmp"),
        (
            _Counter("tcp.listen_overflows_per_s", Text("accept queue full", "accept 队列溢出")),
            _Counter("tcp.listen_drops_per_s", Text("connections not taken", "监听丢弃")),
            _Counter("tcp.req_q_full_drop_per_s", Text("SYN queue full", "SYN 队列已满")),
            _Counter("tcp.rcvq_drop_per_s", Text("receive buffer full (TCP)", "接收缓冲已满（TCP）")),
            _Counter("net.udp_rcvbuf_errors_per_s", Text("receive buffer full (UDP)", "接收缓冲已满（UDP）")),
            _Counter("net.udp_no_ports_per_s", Text("no listener (UDP)", "端口没有监听者（UDP）"), "warn"),
        ),
    ),
    _LayerSpec("app", Text("program", "程序"), ("ss_listen",)),
)
_METRICS = [counter.metric for spec in _LAYERS for counter in spec.counters] + [
    spec.passing for spec in _LAYERS if spec.passing
]


def build_charts(view: HostView) -> Sequence[RunChart]:
    """Return one chart of the host, or none if no layer has data."""
    layers = tuple(_build_layer(view, spec) for spec in _LAYERS)
    if all(layer.state == "no_data" for layer in layers):
        return ()
    return (RunChart(BUILDER.id, BUILDER.id, TITLE, view.scope, body=Ladder(layers)),)


def _build_layer(view: HostView, spec: _LayerSpec) -> NetworkLayer:
    of_tables = _TABLE_LOSSES.get(spec.id)
    losses = list(of_tables(view)) if of_tables else []
    losses += [loss for counter in spec.counters for loss in _list_counter_losses(view, counter)]
    losses.sort(key=lambda loss: (-_SEVERITY[loss.tone], -loss.rate.value, loss.id))
    passing = _find_traffic(view, spec.passing)
    if losses:
        state: LayerState = max((loss.tone for loss in losses), key=lambda tone: _SEVERITY[tone])
        left_out = max(0, len(losses) - MAX_LOSSES)
        return NetworkLayer(spec.id, spec.label, state, tuple(losses[:MAX_LOSSES]), passing, None, left_out)
    if spec.id in {"netfilter", "app"} and any(view.has_data(name) for name in spec.collectors):
        return NetworkLayer(
            spec.id, spec.label, "good", passing=passing, reason=Sentence(f"chart.ladder_no_{spec.id}")
        )
    return NetworkLayer(
        spec.id, spec.label, "no_data", passing=passing, reason=view.missing_reason(spec.collectors)
    )


def _list_counter_losses(view: HostView, counter: _Counter) -> Iterator[PacketLoss]:
    """Yield one loss for each series of a counter, without the loopback device."""
    for series in view.series_of(counter.metric):
        rate = compute_rate(series, "per_s")
        about = series.labels.get("dev", "")
        if rate is not None and about != "lo":
            mean, total = rate
            tone: Literal["good", "warn", "bad"] = counter.tone if mean.value > 0 else "good"
            yield PacketLoss(f"{counter.metric}/{about}", counter.label, about, mean, total, tone)


def _find_traffic(view: HostView, metric: str) -> Figure | None:
    """Return the traffic through a layer: that of the busiest series, so that the number has a single source."""
    series_list = (
        [series for series in view.series_of(metric) if series.labels.get("dev") != "lo"] if metric else []
    )
    rates = [
        rate[0]
        for rate in (compute_rate(series, "packets_per_s") for series in series_list)
        if rate is not None
    ]
    return max(rates, key=lambda rate: rate.value, default=None)


def _list_queue_losses(view: HostView) -> Iterator[PacketLoss]:
    for at, row in enumerate(view.rows("qdiscs")):
        per_s, drops = read_figure(row, "drops_per_s", "per_s"), read_figure(row, "drops", "count")
        if per_s is not None and row.text("dev") != "lo":
            about = f"{row.text('dev')} {row.text('kind')}"[:80]
            label = Text("dropped by the queue", "队列丢弃")
            yield PacketLoss(
                f"qdisc/{at}", label, about, per_s, drops, "bad" if _has_losses(per_s, drops) else "good"
            )


def _list_firewall_losses(view: HostView) -> Iterator[PacketLoss]:
    for at, row in enumerate(view.rows("firewall_rules")):
        per_s, packets = read_figure(row, "packets_per_s", "per_s"), read_figure(row, "packets", "count")
        if per_s is not None and row.text("verdict") in _DROP_VERDICTS:
            about = f"{row.text('table')}/{row.text('chain')} {row.text('matches')}"[:80]
            tone: Literal["good", "bad"] = "bad" if _has_losses(per_s, packets) else "good"
            yield PacketLoss(f"rule/{at}", row.text("verdict"), about, per_s, packets, tone)


def _list_listener_losses(view: HostView) -> Iterator[PacketLoss]:
    """Yield the share of samples with a full accept queue, for each listener."""
    for at, row in enumerate(view.rows("listeners")):
        full, samples = read_figure(row, "full_samples", "count"), read_figure(row, "samples", "count")
        if full is None or samples is None or samples.value < 1 or (row.number("backlog") or 0) <= 0:
            continue
        share = make_figure(100.0 * full.value / samples.value, "pct", full.citation)
        if share is not None:
            about = f"{format_address(row.text('address'), row.number('port'))} {row.text('process')}".strip()
            label = Text("does not accept: samples with a full queue", "不 accept：队列已满的采样占比")
            yield PacketLoss(f"listener/{at}", label, about, share, full, "bad" if full.value > 0 else "good")


def _list_frame_errors(view: HostView) -> Iterator[PacketLoss]:
    """Yield CRC and carrier errors of links with any. The general device counters cover links without errors."""
    yield from _list_link_losses(view, "rx_crc_errors_per_s", Text("damaged frames (CRC)", "CRC 错误帧"))
    yield from _list_link_losses(view, "tx_carrier_errors_per_s", Text("no carrier", "载波丢失"))


def _list_ring_losses(view: HostView) -> Iterator[PacketLoss]:
    """Yield packets for which the receive ring had no space, from link statistics and from ethtool counters."""
    yield from _list_link_losses(
        view, "rx_missed_errors_per_s", Text("missed: no room in the ring", "接收环无空间")
    )
    for at, row in enumerate(view.rows("nic_counters")):
        per_s = read_figure(row, "per_s", "per_s")
        if per_s is not None and per_s.value > 0 and _RING_COUNTERS.search(row.text("name")):
            about = f"{row.text('dev')} {row.text('name')}"[:80]
            yield PacketLoss(
                f"nic/{at}", Text("by the driver's counter", "驱动计数器"), about, per_s, None, "bad"
            )


def _list_link_losses(view: HostView, column: str, label: Text) -> Iterator[PacketLoss]:
    for row in view.rows("links"):
        per_s = read_figure(row, column, "per_s")
        if per_s is not None and per_s.value > 0:
            yield PacketLoss(f"{column}/{row.text('dev')}", label, row.text("dev"), per_s, None, "bad")


_TABLE_LOSSES: Mapping[str, Callable[[HostView], Iterator[PacketLoss]]] = {
    "nic": _list_frame_errors,
    "ring": _list_ring_losses,
    "qdisc": _list_queue_losses,
    "netfilter": _list_firewall_losses,
    "app": _list_listener_losses,
}


def _has_losses(per_s: Figure, total: Figure | None) -> bool:
    return per_s.value > 0 or (total is not None and total.value > 0)


BUILDER = ChartBuilder(
    id="drop-ladder",
    title=TITLE,
    summary=Text(
        "From top to bottom the way of a received packet. Each layer shows what it threw away per second and in all "
        "while it was watched; ✕ is a loss there, ▲ a loss elsewhere that was felt there, ✓ none. "
        "Hatched layers were not looked at: a loss may hide in them. The first ✕ from the top is where to look.",
        "自上而下是收包的路径。每层显示观察期内每秒和总共丢弃了多少："
        "✕ 表示在此丢失，▲ 表示别处的丢失在此被感知，✓ 表示没有。"
        "带斜纹的层没有采集，丢失可能藏在其中。从上往下第一个 ✕ 就是该查的地方。",
    ),
    reads=request_view(metrics=_METRICS, tables=["qdiscs", "firewall_rules", "listeners", "links", "nic_counters"]),
    collectors=tuple(dict.fromkeys(name for spec in _LAYERS for name in spec.collectors)),
    rules=(
        "F-NET-QDISC-DROP", "F-NET-QDISC-AQM-DROP", "F-NET-NETEM-PRESENT", "F-NET-FW-DROP", "F-NET-FW-STATISTIC",
        "F-NET-FW-DEFAULT-DROP", "F-NET-FW-UNCOUNTED", "F-NET-FW-UNCOUNTED-LIMIT", "F-NET-CONNTRACK-FULL",
        "F-NET-CONNTRACK-DROP", "F-NET-CONNTRACK-LOG", "F-NET-SYN-RETRANS", "F-NET-LOSS-ELSEWHERE", "F-NET-IFACE-DROP",
        "F-NET-LINK-ERRORS", "F-NET-LISTEN-OVERFLOW", "F-SOFTNET-DROP", "F-SOFTNET-SQUEEZE",
        "F-NET-UDP-BUFFER-FULL",
    ),
    build=build_charts,
)  # fmt: skip
