"""Sockets, queues and filters."""

# ruff: noqa: PLR0917 - a table of rows reads better by position

from __future__ import annotations

from collectors.contract import Text
from collectors.metrics.row import Metric, Nature, TrackKind, TrackStyle, Unit


def _socket_metric(
    metric: str,
    unit: Unit,
    nature: Nature,
    axis: str | None,
    group: str,
    order: int,
    title: Text,
    meaning: Text,
    kind: TrackKind = "line",
    labels: tuple[str, ...] = (),
) -> Metric:
    return Metric(metric, unit, nature, labels, axis, title, meaning, TrackStyle(group, order, kind))


_SOFTNET = (
    _socket_metric(
        "softnet.processed_per_s",
        "packets_per_s",
        "counter",
        "cpu",
        "network",
        740,
        Text("Packets taken by CPUs", "各 CPU 处理的包"),
        Text("Packets that each CPU took from the network.", "每个 CPU 从网络接收处理的包数。"),
        "heatmap",
    ),
    _socket_metric(
        "softnet.dropped_per_s",
        "packets_per_s",
        "counter",
        "cpu",
        "network",
        741,
        Text("Backlog drops", "积压队列丢包"),
        Text(
            "Packets dropped because the backlog of a CPU was full (net.core.netdev_max_backlog).",
            "因 CPU 积压队列已满（net.core.netdev_max_backlog）而丢弃的包数。",
        ),
        "heatmap",
    ),
    _socket_metric(
        "softnet.squeezed_per_s",
        "per_s",
        "counter",
        "cpu",
        "network",
        742,
        Text("Out of budget", "处理预算耗尽"),
        Text(
            "Times that a CPU stopped receiving with packets left, because its budget or time was up.",
            "CPU 因预算或时间用尽而停止接收、仍有包未处理的次数。",
        ),
        "heatmap",
    ),
    _socket_metric(
        "softnet.rps_per_s",
        "per_s",
        "counter",
        "cpu",
        "network",
        743,
        Text("Woken by another CPU", "被其他 CPU 唤醒收包"),
        Text(
            "Times that another CPU handed packets to this one (RPS).",
            "其他 CPU 将包交给本 CPU 处理的次数（RPS）。",
        ),
        "heatmap",
    ),
)

_CONNTRACK = (
    _socket_metric(
        "conntrack.count",
        "count",
        "gauge",
        None,
        "network",
        750,
        Text("Tracked connections", "跟踪的连接"),
        Text("Connections in the tracking table.", "连接跟踪表中的连接数。"),
    ),
    _socket_metric(
        "conntrack.fill_pct",
        "pct",
        "gauge",
        None,
        "network",
        751,
        Text("Tracking table used", "连接跟踪表使用率"),
        Text("Tracked connections as a share of the limit.", "已跟踪连接占上限的比例。"),
        "area",
    ),
    _socket_metric(
        "conntrack.drops_per_s",
        "per_s",
        "counter",
        None,
        "network",
        752,
        Text("Dropped by tracking", "连接跟踪丢弃"),
        Text(
            "Packets dropped because their connection could not be tracked; most often the table was full.",
            "因无法跟踪其连接而丢弃的包，多因表已满。",
        ),
    ),
    _socket_metric(
        "conntrack.early_drops_per_s",
        "per_s",
        "counter",
        None,
        "network",
        753,
        Text("Early drops", "提前淘汰"),
        Text(
            "Tracked connections evicted early to make room for new ones.",
            "为给新连接腾出空间而提前淘汰的连接。",
        ),
    ),
    _socket_metric(
        "conntrack.insert_failed_per_s",
        "per_s",
        "counter",
        None,
        "network",
        754,
        Text("Not entered", "插入失败"),
        Text(
            "Connections that could not be inserted, for example when two packets of one connection race (often DNS).",
            "未能写入跟踪表的连接，例如同一连接的两个包竞争（常见于 DNS）。",
        ),
    ),
    _socket_metric(
        "conntrack.search_restarts_per_s",
        "per_s",
        "counter",
        None,
        "network",
        755,
        Text("Restarted searches", "查找重启"),
        Text(
            "Searches of the table that restarted because the table changed.",
            "因表在查找期间变化而重新开始的查找。",
        ),
    ),
)

_SOCKETS = (
    _socket_metric(
        "tcp.state_count",
        "count",
        "gauge",
        "state",
        "tcp",
        840,
        Text("Sockets by state", "各状态套接字"),
        Text("TCP sockets in each state.", "处于各状态的 TCP 套接字数。"),
    ),
    _socket_metric(
        "tcp.accept_queue_fill_pct",
        "pct",
        "gauge",
        None,
        "tcp",
        841,
        Text("Fullest accept queue", "最满的 accept 队列"),
        Text(
            "The fullest queue of finished handshakes that wait for accept(), as a share of its backlog.",
            "等待 accept() 的已完成握手队列中最满者占其 backlog 的比例。",
        ),
        "area",
    ),
    _socket_metric(
        "probe.connect_ms",
        "ms",
        "gauge",
        None,
        "tcp",
        880,
        Text("Time to connect", "建连耗时"),
        Text(
            "How long each probe took to connect; no data where it failed.",
            "每次探测的建连耗时；失败则无数据。",
        ),
        labels=("target",),
    ),
    _socket_metric(
        "probe.http_ms",
        "ms",
        "gauge",
        None,
        "tcp",
        881,
        Text("Time to answer", "HTTP 应答耗时"),
        Text(
            "How long each HTTP probe took in all; no data where it failed.",
            "每次 HTTP 探测的总耗时；失败则无数据。",
        ),
        labels=("target",),
    ),
)

ROWS: tuple[Metric, ...] = _SOFTNET + _CONNTRACK + _SOCKETS
