"""Rules about segments that get lost because of their size."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.catalog.network.loss import DATA_LOST, MOST_UNACKNOWLEDGED
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application.pools import UNACKNOWLEDGED, UNSENT
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.measures.network import related as details
from culprit.domain.rules.measures.network.loss import HANDSHAKES_WAITING
from culprit.domain.rules.measures.network.segment_sizes import (
    FULL_REPEATED,
    FULL_TO_CLIENTS,
    SHORT_REPEATED,
    SHORT_TO_CLIENTS,
)
from culprit.domain.rules.rule import Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-NET-LARGE-LOST",
        title=Text("Large packets to a peer are lost, and small ones arrive", "发往对端的大包丢失，小包可达"),
        summary=Text(
            "Handshakes with {peer} succeed, but {value} % of the requests of {name} that wait for it are not "
            "acknowledged ({unsent} on average).",
            "与 {peer} 的握手成功，但 {name} 等待它的请求中有 {value} % 未被确认（平均 {unsent} 个）。",
        ),
        measure=UNACKNOWLEDGED,
        op=">=",
        thresholds=(("warn", MOST_UNACKNOWLEDGED),),
        also=(
            *DATA_LOST,
            Condition(
                HANDSHAKES_WAITING,
                "<",
                Threshold(
                    "handshakes", 10.0, "percent: a lost handshake waits 1 s, lost data 0.2 s (RFC 6298)"
                ),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("network", "errors"),
        suspects=("mtu-too-small",),
        causes=("mtu-too-small",),
        refuted_by=("F-NET-FW-DROPS-PEER",),
        caveats=Text(
            "A device that drops bursts, or a limit of bytes, loses large packets more often too.",
            "丢弃突发流量或按字节限速的设备也会更多地丢失大包。",
        ),
        source="RFC 2923, 2.1: a black hole of path MTU discovery lets handshakes pass and full segments not",
    ),
    Rule(
        id="F-NET-FULL-SEGMENTS-LOST",
        title=Text(
            "Full segments to a peer never arrive, and short ones do",
            "发往对端的满长数据段始终不达，短段可达",
        ),
        summary=Text(
            "{name} has sent the same full segment to {peer} three times or more on {repeated} connections, {value} % "
            "of those with so much data. Nearly all of its short packets arrive ({short} segments, and handshakes).",
            "{name} 在 {repeated} 个连接上已把同一满长数据段向 {peer} 发送三次以上（占此类连接的 {value} %）；"
            "短包则几乎全部到达（{short} 个短数据段，以及握手）。",
        ),
        measure=FULL_REPEATED,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn",
                    50.0,
                    "percent: (2p)² where p of the segments are lost, so p above 35 % (RFC 6298)",
                ),
            ),
        ),
        also=(
            Condition(UNSENT, ">=", Threshold("unsent", LEAST_WAITING, "a tenth of a request at any time")),
            Condition(
                SHORT_REPEATED,
                "<",
                Threshold("short", 10.0, "percent: of 35 % that are lost as many are sent again"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("network", "errors"),
        suspects=("mtu-too-small",),
        causes=("mtu-too-small",),
        refuted_by=("F-NET-FW-DROPS-PEER",),
        caveats=Text(
            "A device that inspects content, or that has forgotten idle connections, can drop the same segment each "
            "time too.",
            "检查内容的设备，或遗忘了空闲连接的设备，也可能每次都丢弃同一数据段。",
        ),
        source="ss: backoff, unacked and bytes_acked of tcp_info; RFC 2923, 2.1: black holes of path MTU discovery",
    ),
    Rule(
        id="F-NET-FULL-ANSWERS-LOST",
        title=Text(
            "Full segments of answers never arrive, and short ones do",
            "应答的满长数据段始终不达，短段可达",
        ),
        summary=Text(
            "On {repeated} connections, {name} (port {port}) has sent the same full segment three times or more, and "
            "the client has never acknowledged a full one: {value} % of the answers of this size. Handshakes and short "
            "segments arrive ({short} segments).",
            "{name}（端口 {port}）在 {repeated} 个连接上已把同一满长数据段发送三次以上，且客户端从未确认过满长段，"
            "占此类应答的 {value} %；握手与短段均可到达（{short} 个短数据段）。",
        ),
        measure=FULL_TO_CLIENTS,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold("warn", 10.0, "percent: (2p)² where p of the segments are lost, so p above 15 %"),
            ),
        ),
        also=(
            Condition(
                SHORT_TO_CLIENTS,
                "<",
                Threshold("short", 5.0, "percent: of 15 % that are lost as many are sent again"),
            ),
        ),
        related=(MetricReading("tcp.retrans_pct", "mean"), details.PEER_MTU),
        strength=Strength.MECHANISM,
        use=Use("network", "errors"),
        suspects=("mtu-too-small",),
        causes=("mtu-too-small",),
        refuted_by=("F-NET-QDISC-DROP", "F-NET-FW-DROP", "F-NET-FW-STATISTIC"),
        harm=True,
        caveats=Text(
            "A client that went away before the first full segment arrived looks the same, and so does a device that "
            "inspects content.",
            "首个满长段到达之前就已离开的客户端表现相同，检查内容的设备亦然。",
        ),
        source="ss: backoff, unacked, bytes_acked and data_segs_out of tcp_info on accepted connections; RFC 2923, "
        "2.1: black holes of path MTU discovery; RFC 6298: the time-out doubles with each retransmission",
    ),
)
