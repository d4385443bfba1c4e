"""Network interfaces, IP and UDP."""

# ruff: noqa: PLR0917 - a table of rows reads better by position

from __future__ import annotations

from collectors.contract import Text
from collectors.metrics.row import Metric, TrackKind, TrackStyle, Unit, host_rate


def _device_metric(
    name: str, unit: Unit, order: int, title: Text, meaning: Text, kind: TrackKind = "line"
) -> Metric:
    return Metric(
        f"net.{name}", unit, "counter", ("dev",), None, title, meaning, TrackStyle("network", order, kind)
    )


_DEVICES = (
    _device_metric(
        "rx_mb_s",
        "mb_per_s",
        700,
        Text("Received", "接收吞吐"),
        Text("Data received by the interface.", "接口接收的数据量。"),
        "area",
    ),
    _device_metric(
        "tx_mb_s",
        "mb_per_s",
        701,
        Text("Sent", "发送吞吐"),
        Text("Data sent by the interface.", "接口发送的数据量。"),
        "area",
    ),
    _device_metric(
        "rx_pps",
        "packets_per_s",
        702,
        Text("Packets received", "接收包"),
        Text("Packets received by the interface.", "接口接收的包数。"),
    ),
    _device_metric(
        "tx_pps",
        "packets_per_s",
        703,
        Text("Packets sent", "发送包"),
        Text("Packets sent by the interface.", "接口发送的包数。"),
    ),
    _device_metric(
        "rx_drop_per_s",
        "packets_per_s",
        704,
        Text("Dropped on receive", "接收丢包"),
        Text("Received packets that the interface dropped.", "接口接收时丢弃的包数。"),
    ),
    _device_metric(
        "tx_drop_per_s",
        "packets_per_s",
        705,
        Text("Dropped on send", "发送丢包"),
        Text("Packets that the interface dropped on sending.", "接口发送时丢弃的包数。"),
    ),
    _device_metric(
        "rx_err_per_s",
        "packets_per_s",
        706,
        Text("Receive errors", "接收错误"),
        Text("Received packets with errors.", "接收错误包数。"),
    ),
    _device_metric(
        "tx_err_per_s",
        "packets_per_s",
        707,
        Text("Send errors", "发送错误"),
        Text("Packets that could not be sent.", "发送错误包数。"),
    ),
    _device_metric(
        "rx_fifo_per_s",
        "packets_per_s",
        708,
        Text("Receive ring overruns", "接收环溢出"),
        Text("Packets lost because the ring was full.", "因接收环已满而丢失的包数。"),
    ),
    _device_metric(
        "drop_ratio_pct",
        "pct",
        709,
        Text("Drop ratio", "丢包率"),
        Text(
            "Dropped packets as a share of those received and dropped; no data without packets.",
            "丢弃包占接收与丢弃包总数的比例；无包时无数据。",
        ),
    ),
    _device_metric(
        "bytes_per_pkt",
        "bytes",
        710,
        Text("Bytes per packet", "每包字节"),
        Text("Mean size of a received packet.", "接收包的平均大小。"),
    ),
)


_IP = (
    host_rate(
        "net.ip_in_discards_per_s",
        "network",
        720,
        "IP input discards",
        "IP 输入丢弃",
        "Good packets dropped, mostly for want of memory.",
        "因缺少内存等丢弃的正常包。",
    ),
    host_rate(
        "net.ip_out_discards_per_s",
        "network",
        721,
        "IP output discards",
        "IP 输出丢弃",
        "Valid packets dropped during transmission.",
        "发送途中丢弃的正常包。",
    ),
    host_rate(
        "net.ip_in_addr_errors_per_s",
        "network",
        722,
        "IP address errors",
        "IP 地址错误",
        "Packets for an address that is not here.",
        "目的地址不属于本机的包。",
    ),
    host_rate(
        "net.ip_no_routes_per_s",
        "network",
        723,
        "No route",
        "无路由",
        "Packets for which no route was found.",
        "找不到路由的包。",
    ),
    host_rate(
        "net.ip_reasm_fails_per_s",
        "network",
        724,
        "Reassembly failures",
        "重组失败",
        "Fragments that could not be put together.",
        "无法重组的分片。",
    ),
    host_rate(
        "net.udp_in_per_s",
        "tcp",
        860,
        "UDP received",
        "UDP 接收",
        "UDP datagrams delivered to sockets.",
        "交付给套接字的 UDP 数据报。",
    ),
    host_rate(
        "net.udp_out_per_s", "tcp", 861, "UDP sent", "UDP 发送", "UDP datagrams sent.", "发送的 UDP 数据报。"
    ),
    host_rate(
        "net.udp_no_ports_per_s",
        "tcp",
        862,
        "UDP to closed ports",
        "UDP 无端口",
        "UDP datagrams for a port on which no process listens.",
        "目标端口没有进程监听的 UDP 数据报。",
    ),
    host_rate(
        "net.udp_in_errors_per_s",
        "tcp",
        863,
        "UDP receive errors",
        "UDP 接收错误",
        "UDP datagrams that could not be delivered.",
        "无法交付的 UDP 数据报。",
    ),
    host_rate(
        "net.udp_rcvbuf_errors_per_s",
        "tcp",
        864,
        "UDP receive buffer full",
        "UDP 接收缓冲满",
        "UDP datagrams dropped because the socket's buffer was full.",
        "因套接字接收缓冲已满而丢弃的 UDP 数据报。",
    ),
    host_rate(
        "net.udp_sndbuf_errors_per_s",
        "tcp",
        865,
        "UDP send buffer full",
        "UDP 发送缓冲满",
        "UDP datagrams refused because the send buffer was full.",
        "因发送缓冲已满而被拒的 UDP 数据报。",
    ),
    host_rate(
        "net.udp6_in_errors_per_s",
        "tcp",
        866,
        "UDP over IPv6 receive errors",
        "UDPv6 接收错误",
        "The same over IPv6.",
        "IPv6 上的同类错误。",
    ),
    host_rate(
        "net.udp6_rcvbuf_errors_per_s",
        "tcp",
        867,
        "UDP over IPv6 buffer full",
        "UDPv6 接收缓冲满",
        "The same over IPv6.",
        "IPv6 上的同类丢弃。",
    ),
)

ROWS: tuple[Metric, ...] = _DEVICES + _IP
