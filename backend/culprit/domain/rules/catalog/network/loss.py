"""Rules about what had to be sent again, and who may have lost it."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import AnyOf, Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures.network_loss import (
    DATA_PER_HANDSHAKE,
    DATA_RETRANS,
    DATA_RETRANS_PCT,
    OWN_DROPS,
)
from culprit.core.rules.measures.network_sockets import UNANSWERED

#: Where one of these fired the host itself threw packets away, and needs nobody else to have done it.
OWN = (
    "F-NET-QDISC-DROP",
    "F-NET-FW-DROP",
    "F-NET-FW-STATISTIC",
    "F-NET-MTU-SMALL",
    "F-NET-MTU-TOO-LONG",
    "F-NET-CONNTRACK-DROP",
    "F-SOFTNET-DROP",
    "F-NET-LINK-ERRORS",
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-NET-SYN-RETRANS",
        title=Text("Handshakes are sent again", "握手报文重传"),
        says=Text("{value} SYN or SYN-ACK a second were sent again.", "每秒重传 {value} 个 SYN 或 SYN-ACK。"),
        measure=Over("tcp.syn_retrans_per_s", "mean"),
        op=">",
        levels=(("warn", Limit("warn", 0.1, "one in ten seconds")),),
        also=(
            AnyOf(
                (
                    Condition(Over("tcp.retrans_pct", "mean"), ">", Limit("share", 1.0, "of all segments")),
                    Condition(
                        Over("tcp.timeouts_per_s", "mean"), ">", Limit("times", 3.0, "baseline"), "baseline"
                    ),
                )
            ),
        ),
        grade=Grade.CORRELATIONAL,
        beside=(Over("tcp.active_opens_per_s", "mean"), Over("tcp.passive_opens_per_s", "mean")),
        causes=("packet-loss-upstream",),
        refuted_by=(*OWN, "F-NET-LISTEN-OVERFLOW", "F-DEP-HANDSHAKES-IGNORED"),
        traps=Text(
            "One dead or overloaded peer makes many of them.", "单个失效或过载的对端就会造成大量重传。"
        ),
        source="TcpExt.TCPSynRetrans, TCPTimeouts",
    ),
    Rule(
        id="F-DEP-HANDSHAKES-IGNORED",
        title=Text("A peer does not take new connections", "对端不接受新连接"),
        says=Text(
            "{waiting} handshakes wait for {peer} ({established} connections stand), {value} a second are sent again;"
            " data arrives at the first try, and nothing is dropped here.",
            "{waiting} 个握手在等待 {peer}（已建立 {established} 个连接），每秒重发 {value} 个；"
            "数据一次送达，本机也没有丢包。",
        ),
        measure=UNANSWERED,
        op=">",
        levels=(("warn", Limit("warn", 0.5, "one in two seconds; a healthy peer takes all")),),
        also=(
            Condition(
                DATA_PER_HANDSHAKE, "<=", Limit("handshakes", 0.25, "loss on the way hits both: 0.5 to 1")
            ),
            Condition(OWN_DROPS, "<=", Limit("own", 2.0, "of a hundred; a drop or two are everywhere")),
        ),
        grade=Grade.CORRELATIONAL,
        causes=("slow-dependency",),
        refuted_by=OWN,
        traps=Text(
            "A firewall before the peer that drops SYN looks the same from here.",
            "对端前的防火墙丢弃 SYN 时，从本机看表现相同。",
        ),
        source="ss: SYN-SENT for each destination; TcpExt.TCPSynRetrans against Tcp.RetransSegs",
    ),
    Rule(
        id="F-NET-LOSS-ELSEWHERE",
        title=Text("Packets get lost, and not here", "丢包发生在本机之外"),
        says=Text(
            "{value} % of the segments with data had to be sent again ({per_s} a second), and no counter of this"
            " host dropped any.",
            "{value} % 的数据段需要重传（每秒 {per_s} 个），而本机没有任何计数器显示丢包。",
        ),
        measure=DATA_RETRANS_PCT,
        op=">",
        levels=(
            ("warn", Limit("warn", 1.0, "TCP on a healthy LAN stays below 0.1 %")),
            ("critical", Limit("critical", 3.0, "throughput and tail latency collapse")),
        ),
        also=(
            Condition(DATA_RETRANS, ">", Limit("rate", 2.0, "a handful in a window are chance")),
            Condition(OWN_DROPS, "<=", Limit("own", 2.0, "of a hundred; a drop or two are everywhere")),
            Condition(DATA_PER_HANDSHAKE, ">", Limit("handshakes", 0.25, "random loss hits both: 0.5 to 1")),
        ),
        grade=Grade.MECHANISM,
        causes=("packet-loss-upstream",),
        refutes=("packet-loss-upstream",),
        refuted_by=OWN,
        traps=Text(
            "A peer that stands still for long looks the same for a while.",
            "长时间停顿的对端短期内表现相同。",
        ),
        source="Tcp.RetransSegs without TcpExt.TCPSynRetrans, against every counter of drops",
    ),
)
