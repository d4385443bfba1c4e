"""The extended TCP counters, once a second."""

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
from collectors.metrics.row import Metric, TrackStyle, host_rate
from collectors.parse.proc import named_numbers, sampled
from collectors.parse.proc.named_numbers import MetricSource
from collectors.parse.tables import results

_PATH = "/proc/net/netstat"
_MAX_BYTES = 16 << 20

_YIELDS = (
    MetricSource("tcp.listen_overflows_per_s", ("TcpExt.ListenOverflows",)),
    MetricSource("tcp.listen_drops_per_s", ("TcpExt.ListenDrops",)),
    MetricSource("tcp.req_q_full_drop_per_s", ("TcpExt.TCPReqQFullDrop",)),
    MetricSource("tcp.syncookies_sent_per_s", ("TcpExt.SyncookiesSent",)),
    MetricSource("tcp.timeouts_per_s", ("TcpExt.TCPTimeouts",)),
    MetricSource("tcp.syn_retrans_per_s", ("TcpExt.TCPSynRetrans",)),
    MetricSource("tcp.fast_retrans_per_s", ("TcpExt.TCPFastRetrans",)),
    MetricSource("tcp.lost_retrans_per_s", ("TcpExt.TCPLostRetransmit",)),
    MetricSource("tcp.dsack_recv_per_s", ("TcpExt.TCPDSACKRecv",)),
    MetricSource("tcp.embryonic_rsts_per_s", ("TcpExt.EmbryonicRsts",)),
    MetricSource("tcp.abort_on_timeout_per_s", ("TcpExt.TCPAbortOnTimeout",)),
    MetricSource("tcp.abort_on_memory_per_s", ("TcpExt.TCPAbortOnMemory",)),
    MetricSource("tcp.backlog_drop_per_s", ("TcpExt.TCPBacklogDrop",)),
    MetricSource("tcp.rcvq_drop_per_s", ("TcpExt.TCPRcvQDrop",)),
    MetricSource("tcp.zero_window_drop_per_s", ("TcpExt.TCPZeroWindowDrop",)),
    MetricSource("tcp.prune_called_per_s", ("TcpExt.PruneCalled",)),
    MetricSource("tcp.time_wait_per_s", ("TcpExt.TW",)),
    MetricSource("tcp.tw_reused_per_s", ("TcpExt.TWRecycled",)),
    MetricSource("tcp.time_wait_overflows_per_s", ("TcpExt.TCPTimeWaitOverflow",)),
    MetricSource("tcp.zero_windows_sent_per_s", ("TcpExt.TCPToZeroWindowAdv",)),
    MetricSource("net.reverse_path_drops_per_s", ("TcpExt.IPReversePathFilter",)),
    MetricSource("tcp.memory_pressure_pct", ("TcpExt.TCPMemoryPressuresChrono",), scale=0.1),
)
_METRICS = (
    host_rate(
        "tcp.time_wait_overflows_per_s",
        "tcp",
        1180,
        "TIME_WAIT refused",
        "TIME_WAIT 溢出",
        "Connections closed at once because the table of TIME_WAIT is full (tcp_max_tw_buckets).",
        "TIME_WAIT 表（tcp_max_tw_buckets）已满而被立即关闭的连接。",
    ),
    host_rate(
        "tcp.zero_windows_sent_per_s",
        "tcp",
        1181,
        "Windows closed",
        "窗口关闭",
        "How often this host made a sender stop, because a program does not read its socket.",
        "本机因程序未读取套接字而要求发送方停止的次数。",
    ),
    host_rate(
        "net.reverse_path_drops_per_s",
        "network",
        1183,
        "Dropped for the way back",
        "反向路径检查丢弃",
        "Packets dropped by rp_filter: the route to their sender does not leave by the interface that they arrived on.",
        "被 rp_filter 丢弃的包：到其发送方的路由不经过它到达的接口。",
    ),
    Metric(
        "tcp.memory_pressure_pct",
        "pct",
        "counter",
        (),
        None,
        Text("Memory pressure of TCP", "TCP 内存压力"),
        Text(
            "Share of the time in which TCP used more memory than the second value of tcp_mem (4.15 and later).",
            "TCP 内存超过 tcp_mem 第二个值的时间占比（4.15 起）。",
        ),
        TrackStyle("tcp", 1182, "line"),
    ),
)


def parse_netstat_ext(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates of TcpExt counters; those that a kernel lacks give no series.

    Names: include/uapi/linux/snmp.h of the kernel.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    readings = sampled.tabulate_readings(samples.of(_PATH), named_numbers.read_header_and_values)
    return results.build_series_result(
        named_numbers.build_named_series(context, readings, _YIELDS), samples.warnings
    )


COLLECTOR = Collector(
    id="netstat_ext",
    title=Text("TCP in detail", "TCP 详细计数"),
    why=Text(
        "Overflowing listen queues, SYN retransmissions, drops and timeouts of this network namespace.",
        "本网络命名空间的监听队列溢出、SYN 重传、丢弃与超时。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc", Needs(files=(_PATH,), remedy="mount -t proc proc /proc"), files=(_PATH,), interval_s=1.0
        ),
    ),
    parse=parse_netstat_ext,
    cost=Cost(0.03, 4500, Text("One small file per second.", "每秒读取一个小文件。")),
    yields=tuple(item.metric for item in _YIELDS),
    metrics=_METRICS,
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    parser_version=2,
    touches=frozenset({TargetAccess.COUNTERS}),
)
