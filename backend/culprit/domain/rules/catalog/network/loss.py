"""Rules about retransmissions and their origin."""

from __future__ import annotations

from dataclasses import replace

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application.pools import UNACKNOWLEDGED, UNSENT
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.measures.network.loss import (
    DATA_PER_HANDSHAKE,
    DATA_RETRANS_PCT,
    HANDSHAKE_RETRANS_PCT,
    LEAST_GROWTH,
    OWN_DROPS,
    RECEIVED_TWICE,
)
from culprit.domain.rules.measures.network.peer_drops import NAMED_DROPS, POSSIBLE_DROPS
from culprit.domain.rules.measures.network.segment_sizes import (
    REPEATED_ON_PATH,
    UNACKNOWLEDGED_ON_PATH,
)
from culprit.domain.rules.measures.network.sockets import UNANSWERED
from culprit.domain.rules.rule import AnyCondition, Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

#: If one of these rules matches, the host itself dropped packets, so no other device is needed to explain the
#: loss.
OWN = (
    "F-NET-QDISC-DROP",
    "F-NET-FW-DROP",
    "F-NET-FW-DROPS-PEER",
    "F-NET-FW-STATISTIC",
    "F-NET-MTU-SMALL",
    "F-NET-MTU-TOO-LONG",
    "F-NET-LARGE-LOST",
    "F-NET-FULL-SEGMENTS-LOST",
    "F-NET-FULL-ANSWERS-LOST",
    "F-NET-CONNTRACK-DROP",
    "F-SOFTNET-DROP",
    "F-NET-LINK-ERRORS",
)
MOST_UNACKNOWLEDGED = Threshold("warn", 50.0, "percent: more of them wait for the network than for the peer")
#: Requests to a peer are not acknowledged, and data is sent again.
DATA_LOST = (
    Condition(UNSENT, ">=", Threshold("unsent", LEAST_WAITING, "a tenth of a request at any time")),
    Condition(DATA_RETRANS_PCT, ">", Threshold("lost", 1.0, "TCP on a healthy LAN stays below 0.1 %")),
)
_NOT_DROPPED_HERE = Condition(
    POSSIBLE_DROPS,
    "<",
    Threshold("own", 50.0, "each retransmission for a drop of this host needs a dropped packet"),
)
_NOT_LATE = Condition(
    RECEIVED_TWICE,
    "<",
    Threshold("twice", 75.0, "percent: half if data and acknowledgements are lost alike, all if late"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-NET-SYN-RETRANS",
        title=Text("Handshakes are retransmitted", "握手报文重传"),
        summary=Text(
            "{value} % of the handshakes were retransmitted ({per_s} packets a second).",
            "{value} % 的握手需要重传（每秒 {per_s} 个包）。",
        ),
        measure=HANDSHAKE_RETRANS_PCT,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "every hundredth connection waits a second more (RFC 6298)")),
        ),
        also=(
            AnyCondition(
                (
                    Condition(
                        MetricReading("tcp.retrans_pct", "mean"),
                        ">",
                        Threshold("share", 1.0, "of all segments"),
                    ),
                    Condition(
                        MetricReading("tcp.timeouts_per_s", "mean"),
                        ">",
                        Threshold("times", 3.0, "baseline"),
                        "baseline",
                    ),
                )
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "errors"),
        suspects=("packet-loss-upstream",),
        related=(
            MetricReading("tcp.active_opens_per_s", "mean"),
            MetricReading("tcp.passive_opens_per_s", "mean"),
        ),
        causes=("packet-loss-upstream",),
        refuted_by=(*OWN, "F-NET-LISTEN-OVERFLOW", "F-DEP-HANDSHAKES-IGNORED", "F-NET-LOSS-AS-BEFORE"),
        harm=True,
        caveats=Text(
            "One dead or overloaded peer causes many of them.", "单个失效或过载的对端就会造成大量重传。"
        ),
        source="TcpExt.TCPSynRetrans, TCPTimeouts",
    ),
    Rule(
        id="F-DEP-HANDSHAKES-IGNORED",
        title=Text("A peer does not accept new connections", "对端不接受新连接"),
        summary=Text(
            "{waiting} handshakes wait for {peer} ({established} established connections). "
            "{value} a second are retransmitted, while data arrives at the first attempt and "
            "this host drops nothing.",
            "{waiting} 个握手在等待 {peer}（已建立 {established} 个连接），每秒重传 {value} "
            "个；数据一次送达，本机也没有丢包。",
        ),
        measure=UNANSWERED,
        op=">",
        thresholds=(("warn", Threshold("warn", 0.0, "a healthy peer accepts all")),),
        also=(
            Condition(
                DATA_PER_HANDSHAKE,
                "<",
                Threshold(
                    "handshakes", 0.5, "loss p on the path repeats p of the data and 2 p of the handshakes"
                ),
            ),
            Condition(
                HANDSHAKE_RETRANS_PCT, ">", Threshold("share", 1.0, "of all handshakes, as for any loss")
            ),
            Condition(OWN_DROPS, "<=", Threshold("own", 2.0, "per hundred; a few drops are normal")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "errors"),
        causes=("slow-dependency",),
        refuted_by=OWN,
        harm=True,
        caveats=Text(
            "From this host, a firewall in front of the peer that drops SYN packets looks the same.",
            "对端前的防火墙丢弃 SYN 时，从本机看表现相同。",
        ),
        source="ss: SYN-SENT per destination; TcpExt.TCPSynRetrans against Tcp.RetransSegs",
    ),
    Rule(
        id="F-NET-LOSS-TO-PEER",
        title=Text("Requests to a peer are lost on the way", "发往对端的请求在途中丢失"),
        summary=Text(
            "{value} % of the requests of {name} that wait for {peer} are not acknowledged ({unsent} on average), and "
            "data is retransmitted.",
            "{name} 等待 {peer} 的请求中有 {value} % 未被确认（平均 {unsent} 个），且数据在重传。",
        ),
        measure=UNACKNOWLEDGED,
        op=">=",
        thresholds=(("warn", MOST_UNACKNOWLEDGED),),
        also=(*DATA_LOST, _NOT_DROPPED_HERE),
        strength=Strength.MECHANISM,
        use=Use("network", "errors"),
        causes=("packet-loss-upstream",),
        refuted_by=OWN,
        caveats=Text(
            "A peer that does not read closes its window, and then data waits here too.",
            "对端不读取时会关闭窗口，数据同样滞留在本机。",
        ),
        source="ss: data that is not acknowledged; tcp_info: unanswered requests; Tcp.RetransSegs; counters of drops, "
        "without rules of the firewall that cannot select these packets",
    ),
    Rule(
        id="F-NET-LOSS-ON-PATH",
        title=Text("The path to a peer loses packets", "到对端的路径丢包"),
        summary=Text(
            "{value} % of the segments to {peer} were sent again ({repeated} of {sent}), and most requests to it are "
            "not acknowledged.",
            "发往 {peer} 的数据段有 {value} % 需要重传（{sent} 个中的 {repeated} 个），且大多数请求未被确认。",
        ),
        measure=REPEATED_ON_PATH,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "every hundredth segment waits for a timeout, 200 ms at least")),
        ),
        also=(
            Condition(UNACKNOWLEDGED_ON_PATH, ">=", replace(MOST_UNACKNOWLEDGED, name="network")),
            Condition(
                OWN_DROPS,
                "<",
                Threshold("own", 50.0, "each retransmission for an own drop needs a dropped packet"),
            ),
            _NOT_LATE,
        ),
        strength=Strength.MECHANISM,
        use=Use("network", "errors"),
        suspects=("packet-loss-upstream",),
        causes=("packet-loss-upstream",),
        refuted_by=OWN,
        caveats=Text(
            "A peer that is out of CPU acknowledges late, which looks the same for some time.",
            "CPU 耗尽的对端确认较迟，短期内表现相同。",
        ),
        source="ss: retrans, bytes_acked and data_segs_out of tcp_info for each peer; RFC 6298: the timeout",
    ),
    Rule(
        id="F-NET-PEER-SILENT",
        title=Text("Requests to a peer are lost, here or on the way", "发往对端的请求丢失于本机或途中"),
        summary=Text(
            "{value} % of the requests of {name} that wait for {peer} are not acknowledged ({unsent} on average).",
            "{name} 等待 {peer} 的请求中有 {value} % 未被确认（平均 {unsent} 个）。",
        ),
        measure=UNACKNOWLEDGED,
        op=">=",
        thresholds=(("warn", MOST_UNACKNOWLEDGED),),
        also=DATA_LOST,
        strength=Strength.CORRELATIONAL,
        use=Use("network", "errors"),
        suspects=("packet-loss-upstream", "firewall-drop"),
        related=(POSSIBLE_DROPS,),
        causes=("packet-loss-upstream",),
        refuted_by=OWN,
        caveats=Text(
            "Only if the drops of this host were read, F-NET-LOSS-TO-PEER excludes them.",
            "仅当读取了本机的丢包计数时，F-NET-LOSS-TO-PEER 才能排除本机丢包。",
        ),
        source="ss: data that is not acknowledged; Tcp.RetransSegs",
    ),
    Rule(
        id="F-NET-FW-DROPS-PEER",
        title=Text("A firewall rule of this host drops packets of a peer", "本机防火墙规则丢弃对端的数据包"),
        summary=Text(
            "The rule «{rule}» dropped {packets} packets, and data of {name} to {peer} is not acknowledged. The "
            "drops are {value} for a hundred retransmissions.",
            "规则「{rule}」丢弃了 {packets} 个包，{name} 发往 {peer} 的数据未被确认；每百次重传对应 {value} 次丢弃。",
        ),
        measure=NAMED_DROPS,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn", 50.0, "each retransmission for a drop needs a dropped packet: more than half"
                ),
            ),
        ),
        also=(Condition(UNACKNOWLEDGED, ">=", replace(MOST_UNACKNOWLEDGED, name="network")), *DATA_LOST),
        strength=Strength.MECHANISM,
        use=Use("network", "errors"),
        causes=("firewall-drop",),
        caveats=Text(
            "Packets of closed connections are invalid too, and are dropped as intended.",
            "已关闭连接的数据包同样属于无效状态，丢弃它们是有意的。",
        ),
        source="iptables-save -c, nft counters: rules for the peer, or for packets that the connection table does not "
        "know (nf_conntrack_tcp_timeout_established, nf_conntrack_tcp_loose); Tcp.RetransSegs",
    ),
    Rule(
        id="F-NET-LOSS-ELSEWHERE",
        title=Text("Packets are lost outside this host", "丢包发生在本机之外"),
        summary=Text(
            "{value} % of the data segments were retransmitted ({per_s} a second), and no "
            "counter of this host shows drops.",
            "{value} % 的数据段需要重传（每秒 {per_s} 个），而本机没有任何计数器显示丢包。",
        ),
        measure=DATA_RETRANS_PCT,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "TCP on a healthy LAN stays below 0.1 %")),
            ("critical", Threshold("critical", 3.0, "throughput and tail latency collapse")),
        ),
        also=(
            Condition(OWN_DROPS, "<=", Threshold("own", 2.0, "per hundred; a few drops are normal")),
            _NOT_LATE,
        ),
        strength=Strength.MECHANISM,
        use=Use("network", "errors"),
        causes=("packet-loss-upstream",),
        refutes=("packet-loss-upstream",),
        refuted_by=(*OWN, "F-DEP-HANDSHAKES-IGNORED", "F-NET-LOSS-AS-BEFORE"),
        harm=True,
        caveats=Text(
            "A peer that pauses for long looks the same for some time.",
            "长时间停顿的对端短期内表现相同。",
        ),
        source="Tcp.RetransSegs without TcpExt.TCPSynRetrans, against every drop counter; a host that is out of CPU "
        "acknowledges late, so that what arrived is repeated and reported (TcpExt.TCPDSACKRecv, RFC 2883)",
    ),
    Rule(
        id="F-NET-LOSS-AS-BEFORE",
        title=Text("Not more data is sent again than before", "重传不比以前更多"),
        summary=Text(
            "{now} % of the data segments were sent again, {before} % in the baseline. So much is lost on the lines of "
            "some clients, and it shows no harm.",
            "{now} % 的数据段需要重传，基线为 {before} %。这是部分客户端线路的常态，不算损害。",
        ),
        measure=LEAST_GROWTH,
        op="<=",
        thresholds=(("info", Threshold("info", 1.0, "the counts allow that nothing has changed")),),
        strength=Strength.CONTEXT,
        use=Use("network", "errors"),
        caveats=Text(
            "A baseline that was recorded during the incident hides it: choose one from a good time.",
            "若基线本身取自故障期间，会掩盖故障：请选择正常时段的基线。",
        ),
        source="Tcp.RetransSegs without TcpExt.TCPSynRetrans of Tcp.OutSegs, with Poisson intervals of both counts",
    ),
)
