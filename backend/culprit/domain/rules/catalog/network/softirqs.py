"""Rules about packets that wait for a CPU, and what makes each of them cost more."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures.network_loss import NO_BUFFER, NO_ROOM, OVERLAY_PCT
from culprit.core.rules.measures.network_sockets import NETFILTER_PCT
from culprit.core.rules.measures.softirq_stacks import OTHER_HANDLER, PACKET_PATH, RECEIVING

_SOFT = Over("cpu.soft_pct", "mean")
_ALL_SOFT = Over("cpu.total_soft_pct", "mean")
_BUSY_SOFT = Condition(
    Over("cpu.soft_pct", "held"), ">", Limit("soft", 10.0, "as for a CPU busy in softirqs")
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-SOFTNET-DROP",
        title=Text("A CPU cannot take all packets", "CPU 来不及收包"),
        says=Text(
            "{value} of a thousand packets found the backlog of the CPU full ({dropped_per_s} a second), which is"
            " busy in softirqs.",
            "每千个包有 {value} 个因该 CPU 积压队列已满而丢弃（每秒 {dropped_per_s} 个），且该 CPU 忙于软中断。",
        ),
        measure=NO_ROOM,
        op=">",
        levels=(
            ("warn", Limit("warn", 1.0, "judged for each thousand packets: rates alone follow the load")),
            ("critical", Limit("critical", 10.0, "1 %")),
        ),
        also=(
            Condition(Over("softnet.dropped_per_s", "mean"), ">", Limit("rate", 10.0, "Netdata")),
            Condition(_SOFT, ">", Limit("soft", 10.0, "else a burst met a short backlog")),
        ),
        grade=Grade.DIRECT,
        causes=("netrx-softirq-saturation",),
        refutes=("netrx-softirq-saturation",),
        traps=Text("The counter is of all network namespaces together.", "该计数为所有网络命名空间共有。"),
        source="/proc/net/softnet_stat column 2",
    ),
    Rule(
        id="F-SOFTNET-SQUEEZE",
        title=Text("Receiving is cut short", "收包被截断"),
        says=Text("{value} times a second the time for packets was up.", "每秒 {value} 次收包时间用尽。"),
        measure=Over("softnet.squeezed_per_s", "mean"),
        op=">",
        levels=(("info", Limit("info", 10.0, "Netdata")),),
        grade=Grade.CONTEXT,
        traps=Text("Harmless without drops and latency.", "没有丢包与延迟时无害。"),
        source="/proc/net/softnet_stat column 3",
    ),
    Rule(
        id="F-NET-UDP-BUFFER-FULL",
        title=Text("UDP sockets have no room", "UDP 套接字缓冲已满"),
        says=Text(
            "{value} of a thousand datagrams found the buffer of their socket full.",
            "每千个报文有 {value} 个因套接字缓冲已满而丢弃。",
        ),
        measure=NO_BUFFER,
        op=">",
        levels=(("warn", Limit("warn", 10.0, "1 %")),),
        also=(
            Condition(Over("net.udp_rcvbuf_errors_per_s", "mean"), ">", Limit("rate", 10.0, "as softnet's")),
            Condition(_ALL_SOFT, ">", Limit("soft", 10.0, "else the program alone is slow")),
        ),
        grade=Grade.CORRELATIONAL,
        causes=("netrx-softirq-saturation",),
        traps=Text("A program that reads too slowly does the same.", "读取过慢的程序也会造成同样现象。"),
        source="Udp.RcvbufErrors",
    ),
    Rule(
        id="F-NET-SMALL-PACKETS",
        title=Text("Many small packets", "大量小包"),
        says=Text("Packets have {value} bytes on average.", "平均包长 {value} 字节。"),
        measure=Over("net.bytes_per_pkt", "mean"),
        op="<",
        levels=(("info", Limit("info", 300.0, "a fifth of a full packet")),),
        also=(
            Condition(Over("net.rx_pps", "mean"), ">", Limit("packets", 20_000.0, "what one core notices")),
            Condition(_ALL_SOFT, ">", Limit("soft", 10.0, "else nobody pays for them")),
        ),
        grade=Grade.CONTEXT,
        traps=Text(
            "Acknowledgements are always small; GRO hides sizes.", "ACK 总是小包；GRO 会掩盖真实长度。"
        ),
        source="/proc/net/dev, received",
    ),
    Rule(
        id="F-CNI-OVERLAY",
        title=Text("An overlay wraps much of the traffic", "覆盖网络封装了大量流量"),
        says=Text("{value} % of the packets are wrapped by {kind}.", "{value} % 的包经 {kind} 封装。"),
        measure=OVERLAY_PCT,
        op=">",
        levels=(("info", Limit("info", 30.0, "a third is worth a direct route")),),
        also=(Condition(_ALL_SOFT, ">", Limit("soft", 10.0, "else nobody pays for it")),),
        grade=Grade.CONTEXT,
        traps=Text("The network may need it.", "网络可能必须使用它。"),
        source="ip -d link",
    ),
    Rule(
        id="F-SOFTIRQ-VECTOR",
        title=Text("Softirq time goes into received packets", "软中断时间主要用于收包"),
        says=Text(
            "{value} % of the time in softirqs is in receiving packets.", "软中断时间中 {value} % 用于收包。"
        ),
        measure=RECEIVING,
        op=">",
        levels=(("info", Limit("info", 50.0, "more than all other handlers")),),
        also=(_BUSY_SOFT,),
        grade=Grade.CONTEXT,
        refutes=("netrx-softirq-saturation",),
        traps=Text(
            "Every host with much traffic does that: what was lost says whether it is too much.",
            "高流量主机都是如此：是否过多要看丢包。",
        ),
        source="perf record, net_rx_action under the softirqs: counts of events are no time",
    ),
    Rule(
        id="F-SOFTIRQ-HANDLER",
        title=Text("Softirq time goes into another handler", "软中断时间用于其他处理"),
        says=Text(
            "{value} % of the time in softirqs is in {handler} ({frames}).",
            "软中断时间中 {value} % 用于 {handler}（{frames}）。",
        ),
        measure=OTHER_HANDLER,
        op=">",
        levels=(("info", Limit("info", 50.0, "more than receiving and all others")),),
        also=(_BUSY_SOFT,),
        grade=Grade.CONTEXT,
        source="perf record: the functions of the vectors",
    ),
    Rule(
        id="F-FLAME-PACKET-PATH",
        title=Text("Bridges and filters take much of receiving", "桥接与过滤占用大量收包时间"),
        says=Text(
            "{value} % of the time in receiving packets runs through {frames}.",
            "收包时间中 {value} % 经过 {frames}。",
        ),
        measure=PACKET_PATH,
        op=">",
        levels=(("info", Limit("info", 30.0, "as for an overlay: a third is worth a direct way")),),
        also=(_BUSY_SOFT,),
        grade=Grade.CONTEXT,
        traps=Text("Hosts of containers need some of it.", "容器主机多少都需要。"),
        source="perf record: what lies above net_rx_action beside the driver and the protocol",
    ),
    Rule(
        id="F-FLAME-NETFILTER",
        title=Text("Packet filters take CPU time", "包过滤消耗 CPU"),
        says=Text("{value} % of the CPU time runs through {frames}.", "{value} % 的 CPU 时间经过 {frames}。"),
        measure=NETFILTER_PCT,
        op=">",
        levels=(("info", Limit("info", 10.0, "a tenth of the CPU")),),
        grade=Grade.CONTEXT,
        traps=Text("Firewalls and gateways do that for a living.", "防火墙与网关本就如此。"),
        source="perf record: nft_*, ipt_do_table, nf_conntrack*, br_nf_*",
    ),
)
