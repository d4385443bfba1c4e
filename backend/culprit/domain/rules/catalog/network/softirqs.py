"""Rules about packets that wait for a CPU, and about the cost of each packet."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.network.loss import NO_BUFFER, NO_ROOM, OVERLAY_PCT
from culprit.domain.rules.measures.network.sockets import NETFILTER_PCT, RULES_PCT
from culprit.domain.rules.measures.network.softirq_stacks import OTHER_HANDLER, PACKET_PATH, RECEIVING
from culprit.domain.rules.rule import Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_SOFT = MetricReading("cpu.soft_pct", "mean")
_BUSY_SOFT = Condition(
    MetricReading("cpu.soft_pct", "held"),
    ">",
    Threshold("soft", 10.0, "as for a CPU that is busy in softirqs"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-SOFTNET-DROP",
        title=Text("A CPU cannot process all packets", "CPU 来不及收包"),
        summary=Text(
            "{value} of a thousand packets were dropped because the backlog of the CPU was full "
            "({dropped_per_s} a second). The CPU is busy in softirqs.",
            "每千个包有 {value} 个因该 CPU 积压队列已满而丢弃（每秒 {dropped_per_s} 个），且该 CPU 忙于软中断。",
        ),
        measure=NO_ROOM,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "per thousand packets, because rates alone follow the load")),
            ("critical", Threshold("critical", 10.0, "1 %")),
        ),
        also=(Condition(_SOFT, ">", Threshold("soft", 10.0, "otherwise a burst exceeded a short backlog")),),
        strength=Strength.DIRECT,
        use=Use("network", "saturation"),
        causes=("netrx-softirq-saturation",),
        refutes=("netrx-softirq-saturation",),
        harm=True,
        caveats=Text("The counter covers all network namespaces.", "该计数为所有网络命名空间共有。"),
        source="/proc/net/softnet_stat column 2",
    ),
    Rule(
        id="F-SOFTNET-SQUEEZE",
        title=Text("Packet processing is interrupted", "收包被截断"),
        summary=Text(
            "The time limit for packet processing was reached {value} times a second.",
            "每秒 {value} 次达到收包时间上限。",
        ),
        measure=MetricReading("softnet.squeezed_per_s", "mean"),
        op=">",
        thresholds=(("info", Threshold("info", 10.0, "Netdata")),),
        strength=Strength.CONTEXT,
        use=Use("network", "saturation"),
        caveats=Text("Harmless without drops and latency.", "没有丢包与延迟时无害。"),
        source="/proc/net/softnet_stat column 3",
    ),
    Rule(
        id="F-NET-UDP-BUFFER-FULL",
        title=Text("UDP socket buffers are full", "UDP 套接字缓冲已满"),
        summary=Text(
            "{value} of a thousand datagrams were dropped because their socket buffer was full.",
            "每千个报文有 {value} 个因套接字缓冲已满而丢弃。",
        ),
        measure=NO_BUFFER,
        op=">",
        thresholds=(("warn", Threshold("warn", 10.0, "1 %")),),
        also=(
            Condition(
                _SOFT, ">", Threshold("soft", 10.0, "percent of one CPU; otherwise only the program is slow")
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "saturation"),
        suspects=("netrx-softirq-saturation",),
        causes=("netrx-softirq-saturation",),
        harm=True,
        caveats=Text("A program that reads too slowly causes the same.", "读取过慢的程序也会造成同样现象。"),
        source="Udp.RcvbufErrors",
    ),
    Rule(
        id="F-NET-SMALL-PACKETS",
        title=Text("Many small packets", "大量小包"),
        summary=Text("The average packet has {value} bytes.", "平均包长 {value} 字节。"),
        measure=MetricReading("net.bytes_per_pkt", "mean"),
        op="<",
        thresholds=(("info", Threshold("info", 300.0, "a fifth of a full packet")),),
        also=(
            Condition(_SOFT, ">", Threshold("soft", 10.0, "percent of one CPU; otherwise there is no cost")),
        ),
        strength=Strength.CONTEXT,
        use=Use("network", "utilization"),
        caveats=Text(
            "Acknowledgements are always small. GRO hides packet sizes.", "ACK 总是小包；GRO 会掩盖真实长度。"
        ),
        source="/proc/net/dev, received",
    ),
    Rule(
        id="F-CNI-OVERLAY",
        title=Text("An overlay encapsulates much of the traffic", "覆盖网络封装了大量流量"),
        summary=Text("{kind} encapsulates {value} % of the packets.", "{value} % 的包经 {kind} 封装。"),
        measure=OVERLAY_PCT,
        op=">",
        thresholds=(("info", Threshold("info", 30.0, "from a third on, a direct route is worthwhile")),),
        also=(
            Condition(_SOFT, ">", Threshold("soft", 10.0, "percent of one CPU; otherwise there is no cost")),
        ),
        strength=Strength.CONTEXT,
        use=Use("network", "utilization"),
        caveats=Text("The network may need it.", "网络可能必须使用它。"),
        source="ip -d link",
    ),
    Rule(
        id="F-SOFTIRQ-VECTOR",
        title=Text("Softirq time is spent on received packets", "软中断时间主要用于收包"),
        summary=Text(
            "{value} % of the softirq time is spent on receiving packets.",
            "软中断时间中 {value} % 用于收包。",
        ),
        measure=RECEIVING,
        op=">",
        thresholds=(("info", Threshold("info", 50.0, "more than all other handlers")),),
        also=(_BUSY_SOFT,),
        strength=Strength.CONTEXT,
        use=Use("cpu", "utilization"),
        refutes=("netrx-softirq-saturation",),
        caveats=Text(
            "Every host with much traffic shows this. Lost packets show whether it is too much.",
            "高流量主机都是如此：是否过多要看丢包。",
        ),
        source="perf record, net_rx_action within softirqs: event counts are not time",
    ),
    Rule(
        id="F-SOFTIRQ-HANDLER",
        title=Text("Softirq time is spent in another handler", "软中断时间用于其他处理"),
        summary=Text(
            "{value} % of the softirq time is in {handler} ({frames}).",
            "软中断时间中 {value} % 用于 {handler}（{frames}）。",
        ),
        measure=OTHER_HANDLER,
        op=">",
        thresholds=(("info", Threshold("info", 50.0, "more than receiving and all others")),),
        also=(_BUSY_SOFT,),
        strength=Strength.CONTEXT,
        use=Use("cpu", "utilization"),
        source="perf record: the functions of the vectors",
    ),
    Rule(
        id="F-FLAME-PACKET-PATH",
        title=Text("Bridges and filters use much of the receive time", "桥接与过滤占用大量收包时间"),
        summary=Text(
            "{value} % of the receive time is in {frames}.",
            "收包时间中 {value} % 经过 {frames}。",
        ),
        measure=PACKET_PATH,
        op=">",
        thresholds=(
            (
                "info",
                Threshold("info", 30.0, "as for an overlay: from a third on, a direct route is worthwhile"),
            ),
        ),
        also=(_BUSY_SOFT,),
        strength=Strength.CONTEXT,
        use=Use("network", "utilization"),
        caveats=Text("Container hosts need some of it.", "容器主机多少都需要。"),
        source="perf record: frames above net_rx_action other than driver and protocol",
    ),
    Rule(
        id="F-FLAME-NETFILTER",
        title=Text("Packet filters use CPU time", "包过滤消耗 CPU"),
        summary=Text("{value} % of the CPU time is in {frames}.", "{value} % 的 CPU 时间经过 {frames}。"),
        measure=NETFILTER_PCT,
        op=">",
        thresholds=(("info", Threshold("info", 10.0, "a tenth of the CPU")),),
        strength=Strength.CONTEXT,
        use=Use("network", "utilization"),
        caveats=Text("Normal for firewalls and gateways.", "防火墙与网关本就如此。"),
        source="perf record: nft_*, ipt_do_table, nf_conntrack*, br_nf_*",
    ),
    Rule(
        id="F-FW-RULES-COST",
        title=Text("The CPU compares packets with firewall rules", "CPU 时间用于逐条匹配防火墙规则"),
        summary=Text(
            "{value} % of the used CPU time compares packets with firewall rules ({frames}).",
            "所用 CPU 时间的 {value} % 用于将数据包与防火墙规则比较（{frames}）。",
        ),
        measure=RULES_PCT,
        op=">",
        thresholds=(("warn", Threshold("warn", 10.0, "percent: a tenth, as for any cause")),),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "utilization"),
        causes=("firewall-rules-many",),
        suspects=("firewall-rules-many",),
        refutes=("firewall-rules-many",),
        caveats=Text(
            "A gateway that does nothing else spends most of its little CPU time there.",
            "仅作网关的主机，其不多的 CPU 时间本就主要用于此。",
        ),
        source="perf record: nft_do_chain, ipt_do_table, ip6t_do_table, ebt_do_table: rules are compared one by one",
    ),
)
