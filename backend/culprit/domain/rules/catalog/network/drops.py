"""Rules about what queues, firewalls and the connection table throw away."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures import network_told as told
from culprit.core.rules.measures.network import (
    AQM_DROP_PCT,
    DEFAULT_DROP_PCT,
    NETEM,
    QUEUE_DROP_PCT,
    QUEUE_DROPS,
    RANDOM_DROPS,
    SERVICE_DROP_PCT,
    UNCOUNTED,
    UNCOUNTED_LIMIT,
)
from culprit.core.rules.measures.network_loss import CONNTRACK_LOG

_FILL = Over("conntrack.fill_pct", "max")
_SENT_AGAIN = Over("tcp.retrans_pct", "mean")
_ACCEPTED = Over("tcp.passive_opens_per_s", "mean")
_HANDSHAKES = Over("tcp.syn_retrans_per_s", "mean")

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
        beside=(told.QUEUE_SENT, _SENT_AGAIN, told.QUEUE_WAITING),
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
        beside=(told.QUEUE_SENT, _SENT_AGAIN, told.QUEUE_WAITING),
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
        beside=(told.NETEM_LOSS, told.NETEM_DELAY, QUEUE_DROPS, _SENT_AGAIN),
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
        beside=(told.SERVICE_DROPS, _SENT_AGAIN, _HANDSHAKES),
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
        beside=(told.DROP_CHANCE, SERVICE_DROP_PCT, _SENT_AGAIN),
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
        beside=(told.DEFAULT_DROPS, _SENT_AGAIN, _HANDSHAKES),
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
    Rule(
        id="F-NET-FW-UNCOUNTED-LIMIT",
        title=Text(
            "New connections reach the limit of a rule that does not count", "新建连接达到无计数规则的限速"
        ),
        says=Text(
            "«{rule}» drops without counting, and new connections come at {value} % of what it lets pass"
            " ({opened_per_s} a second).",
            "「{rule}」丢弃且不计数，而新建连接已达其放行上限的 {value} %（每秒 {opened_per_s} 个）。",
        ),
        measure=UNCOUNTED_LIMIT,
        op=">",
        levels=(("warn", Limit("warn", 80.0, "what exceeds the limit never shows as a connection")),),
        grade=Grade.CORRELATIONAL,
        beside=(told.UNCOUNTED_RATE, Over("tcp.passive_opens_per_s", "max"), _HANDSHAKES),
        causes=("firewall-drop",),
        traps=Text(
            "A limit that was just not reached looks the same: let the rule count, and look again.",
            "恰好未触及上限时表现相同：为规则加上计数器后再看。",
        ),
        source="nft rules without `counter`, against Tcp.PassiveOpens",
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
        beside=(Over("conntrack.count", "max"), Over("conntrack.drops_per_s", "mean"), _ACCEPTED),
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
        beside=(Over("conntrack.count", "max"), _ACCEPTED),
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
        beside=(Over("conntrack.count", "max"), _ACCEPTED),
        causes=("conntrack-table-full",),
        traps=Text("All network namespaces write into one log.", "所有网络命名空间共用一份内核日志。"),
        source="nf_conntrack: table full, dropping packet",
    ),
)

RULES: tuple[Rule, ...] = (*_QUEUES, *_FIREWALL, *_CONNTRACK)
