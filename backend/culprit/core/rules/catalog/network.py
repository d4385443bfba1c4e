"""Rules about what queues, firewalls, devices and the connection table throw away."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import AnyOf, Condition, Grade, Guard, Limit, Over, Rule
from culprit.core.rules.measures.network import (
    AQM_DROP_PCT,
    DEFAULT_DROP_PCT,
    FLAPS,
    HALF_DUPLEX,
    LINK_ERRORS,
    LINK_USE,
    MTU,
    MTU_GAP,
    NETEM,
    QUEUE_DROP_PCT,
    QUEUE_DROPS,
    RANDOM_DROPS,
    SERVICE_DROP_PCT,
    TOO_LONG,
    UNCOUNTED,
)
from culprit.core.rules.measures.network_loss import (
    CONNTRACK_LOG,
    DATA_PER_HANDSHAKE,
    DATA_RETRANS,
    DATA_RETRANS_PCT,
    OWN_DROPS,
)

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
_FILL = Over("conntrack.fill_pct", "max")

_QUEUES: tuple[Rule, ...] = (
    Rule(
        id="F-NET-QDISC-DROP",
        title=Text("A queue of this host drops packets", "本机队列丢包"),
        says=Text(
            "The {kind} of the device dropped {drops} packets, {value} % of what it was given.",
            "该设备的 {kind} 丢弃了 {drops} 个包，占 {value} %。",
        ),
        measure=QUEUE_DROP_PCT,
        op=">",
        levels=(
            (
                "warn",
                Limit("warn", 0.1, "any drop is one too many; a shaper's TCP needs some, so not from 0"),
            ),
            ("critical", Limit("critical", 1.0, "TCP throughput falls with the root of the loss")),
        ),
        also=(Condition(QUEUE_DROPS, ">", Limit("rate", 0.5, "a few packets in a window are chance")),),
        grade=Grade.DIRECT,
        causes=("qdisc-drop",),
        refutes=("qdisc-drop",),
        traps=Text(
            "A shaper that is meant to be narrow drops what exceeds its rate.",
            "有意限速的整形器会丢弃超出速率的流量。",
        ),
        source="tc-stats: dropped",
    ),
    Rule(
        id="F-NET-QDISC-AQM-DROP",
        title=Text("A managed queue drops much", "AQM 队列丢包偏多"),
        says=Text(
            "The {kind} of the device dropped {value} % of what it was given.",
            "该设备的 {kind} 丢弃了 {value} % 的包。",
        ),
        measure=AQM_DROP_PCT,
        op=">",
        levels=(("warn", Limit("warn", 1.0, "below, dropping is how it signals")),),
        also=(Condition(QUEUE_DROPS, ">", Limit("rate", 0.5, "a few packets in a window are chance")),),
        grade=Grade.CORRELATIONAL,
        causes=("qdisc-drop",),
        traps=Text("fq_codel and cake drop by design.", "fq_codel 与 cake 的丢包是设计行为。"),
        source="RFC 7567; tc-stats: dropped",
    ),
    Rule(
        id="F-NET-NETEM-PRESENT",
        title=Text("A network emulator is installed", "存在网络模拟器 netem"),
        says=Text(
            "{value} netem: loss {loss_pct} %, delay {delay_ms} ms.",
            "{value} 个 netem：丢包 {loss_pct} %，延迟 {delay_ms} 毫秒。",
        ),
        measure=NETEM,
        op=">=",
        levels=(("critical", Limit("critical", 1.0, "nobody needs it in production")),),
        grade=Grade.CORRELATIONAL,
        causes=("qdisc-drop",),
        traps=Text("It may be a chaos test that is meant.", "可能是有意的混沌测试。"),
        source="tc-netem(8); what it drops is judged by F-NET-QDISC-DROP",
    ),
)

_FIREWALL: tuple[Rule, ...] = (
    Rule(
        id="F-NET-FW-DROP",
        title=Text("A firewall rule drops service traffic", "防火墙规则丢弃业务流量"),
        says=Text(
            "The rule «{rule}» dropped {packets} packets, {value} % of all traffic.",
            "规则「{rule}」丢弃了 {packets} 个包，占全部流量的 {value} %。",
        ),
        measure=SERVICE_DROP_PCT,
        op=">",
        levels=(
            ("warn", Limit("warn", 0.5, "scanners are fewer than that on a host that serves")),
            ("critical", Limit("critical", 2.0, "every fiftieth packet: most short requests are hit")),
        ),
        grade=Grade.DIRECT,
        causes=("firewall-drop",),
        refutes=("firewall-drop",),
        traps=Text(
            "A limit against floods drops by design while there is one.",
            "防洪限速规则在遭受洪泛时丢包属于设计行为。",
        ),
        source="iptables-save -c, nft counters: rules by chance, by rate, or to a port that is listened on",
    ),
    Rule(
        id="F-NET-FW-STATISTIC",
        title=Text("A firewall rule drops at random", "防火墙规则随机丢包"),
        says=Text(
            "The rule «{rule}» drops with a chance of {probability}: {value} packets a second.",
            "规则「{rule}」以 {probability} 的概率丢包：每秒 {value} 个。",
        ),
        measure=RANDOM_DROPS,
        op=">",
        levels=(("critical", Limit("critical", 0.0, "nothing in production drops by chance")),),
        grade=Grade.DIRECT,
        causes=("firewall-drop",),
        traps=Text(
            "Load balancers use chance to choose a target, never to drop.",
            "负载均衡用概率选择目标，但不会丢弃。",
        ),
        source="iptables-extensions(8) statistic; nft numgen, meta random",
    ),
    Rule(
        id="F-NET-FW-DEFAULT-DROP",
        title=Text("The default of a firewall drops much", "防火墙默认规则丢包较多"),
        says=Text(
            "What «{rule}» did not let pass is {value} % of all traffic.",
            "「{rule}」未放行的流量占 {value} %。",
        ),
        measure=DEFAULT_DROP_PCT,
        op=">",
        levels=(("warn", Limit("warn", 1.0, "noise of scanners is less on a host that serves")),),
        grade=Grade.CORRELATIONAL,
        causes=("firewall-drop",),
        traps=Text(
            "A default-deny policy and bans drop by design.", "默认拒绝策略与封禁规则的丢包属于设计行为。"
        ),
        source="iptables-save -c, nft counters",
    ),
    Rule(
        id="F-NET-FW-UNCOUNTED",
        title=Text("A firewall rule drops and does not count", "有丢弃规则但没有计数器"),
        says=Text(
            "Nobody can tell how much «{rule}» drops ({value}).", "无法得知「{rule}」丢弃了多少（{value}）。"
        ),
        measure=UNCOUNTED,
        op=">=",
        levels=(("info", Limit("info", 1.0, "one hides what it does")),),
        grade=Grade.CONTEXT,
        source="nft rules without `counter`",
    ),
)

_CONNTRACK: tuple[Rule, ...] = (
    Rule(
        id="F-NET-CONNTRACK-FULL",
        title=Text("The table of tracked connections is nearly full", "连接跟踪表将满"),
        says=Text("{value} % of the table of tracked connections is taken.", "连接跟踪表已使用 {value} %。"),
        measure=_FILL,
        op=">",
        levels=(
            ("info", Limit("info", 75.0, "Netdata")),
            ("warn", Limit("warn", 90.0, "Netdata")),
            ("critical", Limit("critical", 95.0, "the next burst is refused")),
        ),
        grade=Grade.CORRELATIONAL,
        causes=("conntrack-table-full",),
        refutes=("conntrack-table-full",),
        traps=Text(
            "Counted for each network namespace, limited for all together.",
            "计数按网络命名空间，上限为全局。",
        ),
        source="nf_conntrack_count, nf_conntrack_max",
    ),
    Rule(
        id="F-NET-CONNTRACK-DROP",
        title=Text("New connections find no room in the table", "连接跟踪表拒绝新连接"),
        says=Text(
            "{value} packets a second were dropped because the table of connections was full.",
            "每秒 {value} 个包因连接跟踪表已满而被丢弃。",
        ),
        measure=Over("conntrack.drops_per_s", "mean"),
        op=">",
        levels=(("critical", Limit("critical", 0.0, "a counter that should stand still")),),
        also=(Condition(_FILL, ">", Limit("fill", 90.0, "else a helper dropped, not the table")),),
        grade=Grade.DIRECT,
        causes=("conntrack-table-full",),
        traps=Text(
            "Helpers drop into the same counter, whence the look at how full it is.",
            "协议助手也计入此项，因此同时要求表已接近满。",
        ),
        source="/proc/net/stat/nf_conntrack: drop",
    ),
    Rule(
        id="F-NET-CONNTRACK-LOG",
        title=Text("The kernel says that the table is full", "内核日志：连接跟踪表已满"),
        says=Text(
            "The kernel's log says that the table of connections is full ({value}).",
            "内核日志报告连接跟踪表已满（{value}）。",
        ),
        measure=CONNTRACK_LOG,
        op=">=",
        levels=(("critical", Limit("critical", 1.0, "the kernel says exactly this")),),
        also=(Condition(_FILL, ">", Limit("fill", 90.0, "the log is everybody's, and may be of yesterday")),),
        grade=Grade.DIRECT,
        causes=("conntrack-table-full",),
        traps=Text("All network namespaces write into one log.", "所有网络命名空间共用一份内核日志。"),
        source="nf_conntrack: table full, dropping packet",
    ),
)

_MTU: tuple[Rule, ...] = (
    Rule(
        id="F-NET-MTU-SMALL",
        title=Text("An MTU below what every network must carry", "MTU 低于网络最低要求"),
        says=Text(
            "The MTU of the device is {value}; IPv6 needs 1280.",
            "该设备 MTU 为 {value}；IPv6 要求至少 1280。",
        ),
        measure=MTU,
        op="<",
        levels=(("critical", Limit("critical", 1280.0, "RFC 8200 section 5")),),
        grade=Grade.DIRECT,
        causes=("mtu-too-small",),
        refutes=("mtu-too-small",),
        traps=Text(
            "Tunnels need 1280 to 1480 and are not judged.", "隧道的 MTU 本就在 1280～1480，不作判断。"
        ),
        source="RFC 8200",
    ),
    Rule(
        id="F-NET-MTU-TOO-LONG",
        title=Text("A device with a small MTU refuses what arrives", "小 MTU 设备拒收报文"),
        says=Text(
            "The device has an MTU of {mtu} and refused {value} packets a second.",
            "该设备 MTU 为 {mtu}，每秒拒收 {value} 个包。",
        ),
        measure=TOO_LONG,
        op=">",
        levels=(("critical", Limit("critical", 0.5, "a healthy device below 1500 refuses none")),),
        grade=Grade.MECHANISM,
        causes=("mtu-too-small",),
        traps=Text("Frames of unknown protocols count as dropped too.", "未知协议的帧也计入丢弃。"),
        source="rx_dropped and rx_length_errors of devices whose MTU is below 1500",
    ),
    Rule(
        id="F-NET-MTU-MISMATCH",
        title=Text("Two ends of a cable disagree on the MTU", "两端 MTU 不一致"),
        says=Text(
            "The MTU here is {mtu}, at the other end {peer}: {value} bytes less.",
            "本端 MTU {mtu}，对端 {peer}：少 {value} 字节。",
        ),
        measure=MTU_GAP,
        op=">",
        levels=(("warn", Limit("warn", 0.0, "both ends must agree")),),
        grade=Grade.CORRELATIONAL,
        causes=("mtu-too-small",),
        source="ip link, both ends of a veth",
    ),
)

_LINKS: tuple[Rule, ...] = (
    Rule(
        id="F-NET-IFACE-DROP",
        title=Text("A device drops packets", "网卡丢包"),
        says=Text("The device dropped {value} % of what it received.", "该设备丢弃了 {value} % 的接收包。"),
        measure=Over("net.drop_ratio_pct", "mean"),
        op=">",
        levels=(("warn", Limit("warn", 2.0, "Netdata")),),
        guards=(
            Guard(
                Condition(
                    Over("net.rx_pps", "mean"), ">", Limit("packets", 100.0, "Netdata: 10,000 a minute")
                ),
                Sentence("doubt.few_packets"),
            ),
        ),
        grade=Grade.CORRELATIONAL,
        traps=Text(
            "Frames of unknown protocols and VLANs count as dropped.", "未知协议或 VLAN 的帧也计入丢弃。"
        ),
        source="/proc/net/dev; who dropped is for other rules to say",
    ),
    Rule(
        id="F-NET-LINK-ERRORS",
        title=Text("A link damages packets", "链路损坏报文"),
        says=Text(
            "{value} of a thousand packets came damaged, mostly {kind}.",
            "每千个包有 {value} 个损坏，主要为 {kind}。",
        ),
        measure=LINK_ERRORS,
        op=">",
        levels=(
            ("warn", Limit("warn", 0.1, "a sound link damages less than one of 10,000")),
            ("critical", Limit("critical", 10.0, "1 %")),
        ),
        grade=Grade.DIRECT,
        causes=("nic-link-degraded",),
        refutes=("nic-link-degraded",),
        source="ip -s -s link: crc, frame, length, carrier",
    ),
    Rule(
        id="F-NET-LINK-FLAP",
        title=Text("A link goes down and up", "链路抖动"),
        says=Text("The carrier changed {value} times.", "载波变化 {value} 次。"),
        measure=FLAPS,
        op=">=",
        levels=(("critical", Limit("critical", 2.0, "down and up once within one capture")),),
        grade=Grade.DIRECT,
        causes=("nic-link-degraded",),
        source="carrier_changes",
    ),
    Rule(
        id="F-NET-LINK-HALF-DUPLEX",
        title=Text("A link runs half duplex", "链路为半双工"),
        says=Text(
            "Half duplex ({value}): both sides cannot send at once.", "半双工（{value}）：双方不能同时发送。"
        ),
        measure=HALF_DUPLEX,
        op=">=",
        levels=(("warn", Limit("warn", 1.0, "a failed negotiation")),),
        grade=Grade.DIRECT,
        causes=("nic-link-degraded",),
        source="/sys/class/net/*/duplex",
    ),
    Rule(
        id="F-NET-UTIL",
        title=Text("A link is nearly full", "链路带宽将满"),
        says=Text("{value} % of the link's speed is used.", "链路速率已使用 {value} %。"),
        measure=LINK_USE,
        op=">",
        levels=(("warn", Limit("warn", 90.0, "Netdata; back below 85")),),
        grade=Grade.CORRELATIONAL,
        traps=Text(
            "Virtual devices have no speed; clouds limit below it.",
            "虚拟网卡没有速率；云上限速低于链路速率。",
        ),
        source="/proc/net/dev against the device's speed",
    ),
)

_TCP: tuple[Rule, ...] = (
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
        causes=("packet-loss-upstream",),
        refuted_by=(*OWN, "F-NET-LISTEN-OVERFLOW"),
        traps=Text(
            "One dead or overloaded peer makes many of them.", "单个失效或过载的对端就会造成大量重传。"
        ),
        source="TcpExt.TCPSynRetrans, TCPTimeouts",
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

RULES: tuple[Rule, ...] = (*_QUEUES, *_FIREWALL, *_CONNTRACK, *_MTU, *_LINKS, *_TCP)
