"""Rules about packets that queues, firewalls and the connection table drop."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.network import related as details
from culprit.domain.rules.measures.network.drops import (
    AQM_DROP_PCT,
    DEFAULT_DROP_PCT,
    NETEM,
    QUEUE_DROP_PCT,
    QUEUE_DROPS,
    RANDOM_DROPS,
    REVERSE_PATH_PCT,
    SERVICE_DROP_PCT,
    UNCOUNTED,
    UNCOUNTED_LIMIT,
)
from culprit.domain.rules.measures.network.loss import CONNTRACK_LOG
from culprit.domain.rules.rule import Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_FILL = MetricReading("conntrack.fill_pct", "max")
_SENT_AGAIN = MetricReading("tcp.retrans_pct", "mean")
_ACCEPTED = MetricReading("tcp.passive_opens_per_s", "mean")
_HANDSHAKES = MetricReading("tcp.syn_retrans_per_s", "mean")

_QUEUES: tuple[Rule, ...] = (
    Rule(
        id="F-NET-QDISC-DROP",
        title=Text("A queue of this host drops packets", "本机队列丢包"),
        summary=Text(
            "The {kind} of the device dropped {drops} packets, {value} % of its packets.",
            "该设备的 {kind} 丢弃了 {drops} 个包，占 {value} %。",
        ),
        measure=QUEUE_DROP_PCT,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold("warn", 0.1, "TCP through a shaper needs some drops, so the threshold is not 0"),
            ),
            (
                "critical",
                Threshold("critical", 1.0, "TCP throughput decreases with the square root of the loss"),
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("network", "saturation"),
        related=(details.QUEUE_SENT, _SENT_AGAIN, details.QUEUE_WAITING),
        causes=("qdisc-drop",),
        refutes=("qdisc-drop",),
        caveats=Text(
            "A shaper with an intended limit drops what exceeds its rate.",
            "有意限速的整形器会丢弃超出速率的流量。",
        ),
        source="tc-stats: dropped",
    ),
    Rule(
        id="F-NET-QDISC-AQM-DROP",
        title=Text("A managed queue drops many packets", "AQM 队列丢包偏多"),
        summary=Text(
            "The {kind} of the device dropped {value} % of its packets.",
            "该设备的 {kind} 丢弃了 {value} % 的包。",
        ),
        measure=AQM_DROP_PCT,
        op=">",
        thresholds=(("warn", Threshold("warn", 1.0, "below, drops are its normal signal")),),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "saturation"),
        suspects=("qdisc-drop",),
        related=(details.QUEUE_SENT, _SENT_AGAIN, details.QUEUE_WAITING),
        causes=("qdisc-drop",),
        caveats=Text("fq_codel and cake drop by design.", "fq_codel 与 cake 的丢包是设计行为。"),
        source="RFC 7567; tc-stats: dropped",
    ),
    Rule(
        id="F-NET-NETEM-PRESENT",
        title=Text("A network emulator is installed", "存在网络模拟器 netem"),
        summary=Text(
            "{value} netem: loss {loss_pct} %, delay {delay_ms} ms.",
            "{value} 个 netem：丢包 {loss_pct} %，延迟 {delay_ms} 毫秒。",
        ),
        measure=NETEM,
        op=">=",
        thresholds=(("critical", Threshold("critical", 1.0, "not used in production")),),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "errors"),
        suspects=("qdisc-drop",),
        related=(details.NETEM_LOSS, details.NETEM_DELAY, QUEUE_DROPS, _SENT_AGAIN),
        causes=("qdisc-drop",),
        caveats=Text("It may be part of an intended chaos test.", "可能是有意的混沌测试。"),
        source="tc-netem(8); F-NET-QDISC-DROP evaluates its drops",
    ),
)

_FIREWALL: tuple[Rule, ...] = (
    Rule(
        id="F-NET-FW-DROP",
        title=Text("A firewall rule drops service traffic", "防火墙规则丢弃业务流量"),
        summary=Text(
            "The rule «{rule}» dropped {packets} packets, {value} % of all traffic.",
            "规则「{rule}」丢弃了 {packets} 个包，占全部流量的 {value} %。",
        ),
        measure=SERVICE_DROP_PCT,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 0.5, "scanners cause less on a host that serves requests")),
            (
                "critical",
                Threshold("critical", 2.0, "every fiftieth packet: most short requests are affected"),
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(details.SERVICE_DROPS, _SENT_AGAIN, _HANDSHAKES),
        causes=("firewall-drop",),
        refutes=("firewall-drop",),
        caveats=Text(
            "A limit against floods drops packets by design during a flood.",
            "防洪限速规则在遭受洪泛时丢包属于设计行为。",
        ),
        source="iptables-save -c, nft counters: rules by chance, by rate, or for a listening port",
    ),
    Rule(
        id="F-NET-FW-STATISTIC",
        title=Text("A firewall rule drops at random", "防火墙规则随机丢包"),
        summary=Text(
            "The rule «{rule}» drops with a probability of {probability}: {value} packets a second.",
            "规则「{rule}」以 {probability} 的概率丢包：每秒 {value} 个。",
        ),
        measure=RANDOM_DROPS,
        op=">",
        thresholds=(("critical", Threshold("critical", 0.0, "no production rule drops by chance")),),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(details.DROP_CHANCE, SERVICE_DROP_PCT, _SENT_AGAIN),
        causes=("firewall-drop",),
        caveats=Text(
            "Load balancers use probability to choose a target, never to drop.",
            "负载均衡按概率选择目标，但不会丢弃。",
        ),
        source="iptables-extensions(8) statistic; nft numgen, meta random",
    ),
    Rule(
        id="F-NET-REVERSE-PATH",
        title=Text("The check of the way back drops packets", "反向路径检查丢弃数据包"),
        summary=Text(
            "rp_filter dropped {value} % of the received packets ({per_s} a second): the route to their sender leaves "
            "by another interface.",
            "rp_filter 丢弃了 {value} % 的接收包（每秒 {per_s} 个）：到其发送方的路由经过另一网卡。",
        ),
        measure=REVERSE_PATH_PCT,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 0.5, "forged senders cause less on a host that serves requests")),
            ("critical", Threshold("critical", 2.0, "as a rule that drops every fiftieth packet")),
        ),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(_SENT_AGAIN, _HANDSHAKES),
        causes=("firewall-drop",),
        caveats=Text(
            "Packets with forged senders, as in a flood, are dropped by design.",
            "伪造来源的包（如洪泛）被丢弃属于设计行为。",
        ),
        source="TcpExt.IPReversePathFilter (net/ipv4/ip_input.c); RFC 3704, 2.2: strict reverse path forwarding fails "
        "where routes are not symmetric",
    ),
    Rule(
        id="F-NET-FW-DEFAULT-DROP",
        title=Text("The default policy of a firewall drops many packets", "防火墙默认规则丢包较多"),
        summary=Text(
            "«{rule}» did not accept {value} % of all traffic.",
            "「{rule}」未放行的流量占 {value} %。",
        ),
        measure=DEFAULT_DROP_PCT,
        op=">",
        thresholds=(("warn", Threshold("warn", 1.0, "scanners cause less on a host that serves requests")),),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "errors"),
        suspects=("firewall-drop",),
        related=(details.DEFAULT_DROPS, _SENT_AGAIN, _HANDSHAKES),
        causes=("firewall-drop",),
        caveats=Text(
            "A default-deny policy and bans drop by design.", "默认拒绝策略与封禁规则的丢包属于设计行为。"
        ),
        source="iptables-save -c, nft counters",
    ),
    Rule(
        id="F-NET-FW-UNCOUNTED",
        title=Text("A firewall rule drops without a counter", "防火墙丢弃规则没有计数器"),
        summary=Text(
            "The number of packets that «{rule}» drops is unknown ({value} rules).",
            "无法得知「{rule}」丢弃了多少（{value} 条规则）。",
        ),
        measure=UNCOUNTED,
        op=">=",
        thresholds=(("info", Threshold("info", 1.0, "one such rule hides its drops")),),
        strength=Strength.CONTEXT,
        use=Use("network", "errors"),
        source="nft rules without `counter`",
    ),
    Rule(
        id="F-NET-FW-UNCOUNTED-LIMIT",
        title=Text(
            "New connections reach the limit of a rule without a counter", "新建连接达到无计数规则的限速"
        ),
        summary=Text(
            "«{rule}» drops without a counter. New connections arrive at {value} % of its limit "
            "({opened_per_s} a second).",
            "「{rule}」丢弃且不计数，而新建连接已达其放行上限的 {value} %（每秒 {opened_per_s} 个）。",
        ),
        measure=UNCOUNTED_LIMIT,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 80.0, "packets above the limit never appear as connections")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "errors"),
        related=(details.UNCOUNTED_RATE, MetricReading("tcp.passive_opens_per_s", "max"), _HANDSHAKES),
        causes=("firewall-drop",),
        caveats=Text(
            "A limit that was almost reached looks the same. Add a counter to the rule and check again.",
            "恰好未触及上限时表现相同：请为规则加上计数器后再检查。",
        ),
        source="nft rules without `counter`, against Tcp.PassiveOpens",
    ),
)

_CONNTRACK: tuple[Rule, ...] = (
    Rule(
        id="F-NET-CONNTRACK-FULL",
        title=Text("The connection tracking table is nearly full", "连接跟踪表将满"),
        summary=Text("{value} % of the connection tracking table is used.", "连接跟踪表已使用 {value} %。"),
        measure=_FILL,
        op=">",
        thresholds=(
            ("info", Threshold("info", 75.0, "Netdata")),
            ("warn", Threshold("warn", 90.0, "Netdata")),
            ("critical", Threshold("critical", 95.0, "the next burst is dropped")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "utilization"),
        suspects=("conntrack-table-full",),
        related=(
            MetricReading("conntrack.count", "max"),
            MetricReading("conntrack.drops_per_s", "mean"),
            _ACCEPTED,
        ),
        causes=("conntrack-table-full",),
        refutes=("conntrack-table-full",),
        caveats=Text(
            "The count is per network namespace; the limit applies to all together.",
            "计数按网络命名空间，上限为全局。",
        ),
        source="nf_conntrack_count, nf_conntrack_max",
    ),
    Rule(
        id="F-NET-CONNTRACK-DROP",
        title=Text("The connection tracking table drops new connections", "连接跟踪表拒绝新连接"),
        summary=Text(
            "{value} packets a second were dropped because the connection tracking table was full.",
            "每秒 {value} 个包因连接跟踪表已满而被丢弃。",
        ),
        measure=MetricReading("conntrack.drops_per_s", "mean"),
        op=">",
        thresholds=(("critical", Threshold("critical", 0.0, "the counter should not increase")),),
        also=(
            Condition(_FILL, ">", Threshold("fill", 90.0, "otherwise a helper dropped them, not the table")),
        ),
        strength=Strength.DIRECT,
        use=Use("network", "saturation"),
        related=(MetricReading("conntrack.count", "max"), _ACCEPTED),
        causes=("conntrack-table-full",),
        harm=True,
        caveats=Text(
            "Helpers increase the same counter, so the rule also requires a nearly full table.",
            "协议助手也计入此项，因此同时要求表已接近满。",
        ),
        source="/proc/net/stat/nf_conntrack: drop",
    ),
    Rule(
        id="F-NET-CONNTRACK-LOG",
        title=Text("The kernel logs a full connection tracking table", "内核日志报告连接跟踪表已满"),
        summary=Text(
            "The kernel log reports {value} times that the connection tracking table is full.",
            "内核日志 {value} 次报告连接跟踪表已满。",
        ),
        measure=CONNTRACK_LOG,
        op=">=",
        thresholds=(("critical", Threshold("critical", 1.0, "reported by the kernel")),),
        also=(Condition(_FILL, ">", Threshold("fill", 90.0, "the log is shared and may contain old lines")),),
        strength=Strength.DIRECT,
        use=Use("network", "saturation"),
        related=(MetricReading("conntrack.count", "max"), _ACCEPTED),
        causes=("conntrack-table-full",),
        harm=True,
        caveats=Text("All network namespaces share one log.", "所有网络命名空间共用一份内核日志。"),
        source="nf_conntrack: table full, dropping packet",
    ),
)

RULES: tuple[Rule, ...] = (*_QUEUES, *_FIREWALL, *_CONNTRACK)
