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
from collectors.parse import named, outcome, sampled
from collectors.parse.named import Yield

_PATH = "/proc/net/netstat"
_MAX_BYTES = 16 << 20

_YIELDS = (
    Yield("tcp.listen_overflows_per_s", ("TcpExt.ListenOverflows",)),
    Yield("tcp.listen_drops_per_s", ("TcpExt.ListenDrops",)),
    Yield("tcp.req_q_full_drop_per_s", ("TcpExt.TCPReqQFullDrop",)),
    Yield("tcp.syncookies_sent_per_s", ("TcpExt.SyncookiesSent",)),
    Yield("tcp.timeouts_per_s", ("TcpExt.TCPTimeouts",)),
    Yield("tcp.syn_retrans_per_s", ("TcpExt.TCPSynRetrans",)),
    Yield("tcp.fast_retrans_per_s", ("TcpExt.TCPFastRetrans",)),
    Yield("tcp.lost_retrans_per_s", ("TcpExt.TCPLostRetransmit",)),
    Yield("tcp.embryonic_rsts_per_s", ("TcpExt.EmbryonicRsts",)),
    Yield("tcp.abort_on_timeout_per_s", ("TcpExt.TCPAbortOnTimeout",)),
    Yield("tcp.abort_on_memory_per_s", ("TcpExt.TCPAbortOnMemory",)),
    Yield("tcp.backlog_drop_per_s", ("TcpExt.TCPBacklogDrop",)),
    Yield("tcp.rcvq_drop_per_s", ("TcpExt.TCPRcvQDrop",)),
    Yield("tcp.zero_window_drop_per_s", ("TcpExt.TCPZeroWindowDrop",)),
    Yield("tcp.prune_called_per_s", ("TcpExt.PruneCalled",)),
    Yield("tcp.time_wait_per_s", ("TcpExt.TW",)),
    Yield("tcp.tw_reused_per_s", ("TcpExt.TWRecycled",)),
)


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates of TcpExt counters; those that a kernel lacks give no series.

    Names: include/uapi/linux/snmp.h of the kernel.
    """
    samples = sampled.read(parts, _MAX_BYTES)
    readings = sampled.tabulate(samples.of(_PATH), named.header_and_values)
    return outcome.of_series(named.series_of(context, readings, _YIELDS), samples.warnings)


COLLECTOR = Collector(
    id="netstat_ext",
    title=Text("TCP in detail", "TCP 详细计数"),
    why=Text(
        "Overflowing listen queues, SYN retransmissions, drops and timeouts of this network namespace.",
        "本网络命名空间的监听队列溢出、SYN 重传、丢弃与超时。",
    ),
    tier=Tier.LIGHT,
    ways=(
        Sampled(
            "proc", Needs(files=(_PATH,), mend="mount -t proc proc /proc"), files=(_PATH,), interval_s=1.0
        ),
    ),
    parse=parse,
    cost=Cost(0.03, 4500, Text("One small file a second.", "每秒读取一个小文件。")),
    yields=tuple(one.metric for one in _YIELDS),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
