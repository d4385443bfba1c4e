"""Causes about packets that get lost, connections that find no place, and ports that run out."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.cause import Cause

_LOSS = ("packet-loss-upstream", "worker-pool-exhausted")

_DROPS: tuple[Cause, ...] = (
    Cause(
        id="qdisc-drop",
        title=Text("A queue of this host drops packets", "本机发送队列丢包"),
        what=Text(
            "The queueing discipline of a device is too short or too slow for what the host sends at once; what does"
            " not fit is thrown away and has to be sent again.",
            "网卡队列规则过短或过慢，容不下主机瞬时发送的数据；放不下的包被丢弃，只能重传。",
        ),
        fix=Text(
            "Lengthen the queue (`limit`) to what the device sends in some 20 ms, raise its rate, or replace it with"
            " fq_codel; remove netem.",
            "将队列 limit 提高到约 20 毫秒的发送量，或提高速率，或改用 fq_codel；移除 netem。",
        ),
        risk=Text(
            "A longer queue adds delay. Note `tc qdisc show` before; `tc qdisc replace` with that takes it back.",
            "队列越长时延越大。先记录 `tc qdisc show`；用原参数执行 `tc qdisc replace` 即可回退。",
        ),
        verify=Text(
            "The same load again: `dropped` of `tc -s qdisc` stands still, retransmissions below 0.1 %.",
            "相同负载下：`tc -s qdisc` 的 dropped 不再增长，重传率低于 0.1 %。",
        ),
        explains=_LOSS,
        suspected_by=("F-NET-QDISC-AQM-DROP", "F-NET-NETEM-PRESENT"),
        proven_by=("qdisc-drop",),
    ),
    Cause(
        id="firewall-drop",
        title=Text("The host's own firewall drops service traffic", "本机防火墙丢弃业务流量"),
        what=Text(
            "A rule of iptables or nftables throws away packets of the service, by chance, beyond a rate, or for its"
            " port; clients wait for retransmissions or give up.",
            "iptables 或 nftables 规则随机、限速或按端口丢弃业务包；客户端只能等待重传或放弃。",
        ),
        fix=Text(
            "Remove the rule, or raise its limit above what healthy traffic needs; let it count, so that it shows.",
            "删除该规则，或将限速提高到正常流量之上；并为其加计数器。",
        ),
        risk=Text(
            "Somebody may have meant it: ask who wrote it. Save `iptables-save` or `nft list ruleset` first; loading"
            " that takes it back.",
            "该规则可能是有意为之，先询问来源。先保存 `iptables-save` 或 `nft list ruleset`，重新载入即可回退。",
        ),
        verify=Text(
            "The same load again: the rule's counter stands still, no handshakes near 1 s or 3 s.",
            "相同负载下：规则计数不再增长，没有接近 1、3 秒的握手。",
        ),
        explains=_LOSS,
        suspected_by=("F-NET-FW-DEFAULT-DROP",),
        proven_by=("firewall-drop",),
    ),
    Cause(
        id="mtu-too-small",
        title=Text("An MTU is too small", "MTU 过小"),
        what=Text(
            "A device takes smaller packets than the network sends; large ones are dropped on arrival, so uploads and"
            " whole requests hang while short ones pass.",
            "网卡接收的包长小于网络发送的包长；大包到达即丢，大请求卡住而小请求正常。",
        ),
        fix=Text(
            "Set the MTU of all ends of the network to the same value (mostly 1500), or announce a smaller MSS.",
            "将网络各端 MTU 设为一致（通常 1500），或通告更小的 MSS。",
        ),
        risk=Text(
            "An MTU above what a tunnel on the way carries breaks large packets again. Setting the old value takes it"
            " back.",
            "MTU 高于途中隧道的能力会再次破坏大包。恢复旧值即可回退。",
        ),
        verify=Text(
            "`ping -M do -s 1472` passes; the device drops nothing on receive under the same load.",
            "`ping -M do -s 1472` 可达；相同负载下网卡接收无丢弃。",
        ),
        explains=_LOSS,
        suspected_by=("F-NET-MTU-MISMATCH",),
        proven_by=("mtu-small",),
    ),
    Cause(
        id="conntrack-table-full",
        title=Text("The table of tracked connections is full", "连接跟踪表已满"),
        what=Text(
            "The firewall remembers every connection in a table of fixed size; when it is full the first packet of"
            " each new connection is dropped without a word.",
            "防火墙用固定大小的表记录连接；表满后每个新连接的首包被静默丢弃。",
        ),
        fix=Text(
            "Raise nf_conntrack_max (and buckets, a quarter of it); shorten the time-outs of closed connections; let"
            " busy ports pass untracked.",
            "提高 nf_conntrack_max（buckets 为其四分之一）；缩短已关闭连接的超时；对繁忙端口使用 notrack。",
        ),
        risk=Text(
            "Each entry takes some 300 bytes of kernel memory; untracked ports lose NAT and state rules. Setting the"
            " old value takes it back.",
            "每个条目约占 300 字节内核内存；notrack 端口不再有 NAT 与状态匹配。恢复旧值即可回退。",
        ),
        verify=Text(
            "The same load again: the table below 75 %, `drop` of its statistics stands still.",
            "相同负载下：表使用率低于 75 %，统计中的 drop 不再增长。",
        ),
        explains=("firewall-drop", *_LOSS),
        suspected_by=("F-NET-CONNTRACK-FULL",),
        proven_by=("conntrack-full",),
    ),
    Cause(
        id="netrx-softirq-saturation",
        title=Text("A CPU cannot receive all packets", "CPU 收包软中断饱和"),
        what=Text(
            "More packets arrive than the CPU that receives can take through the network stack; its backlog is full"
            " and the rest is dropped before any program could see it.",
            "到达的包超过收包 CPU 处理能力；积压队列写满，其余包在程序看到之前就被丢弃。",
        ),
        fix=Text(
            "Spread receiving over CPUs (queues of the card, RPS), shorten what each packet passes (rules, bridges,"
            " overlays), or keep the flood away before the host.",
            "将收包分散到多个 CPU（网卡多队列、RPS），缩短每包路径（规则、网桥、覆盖网络），或在主机之前拦截洪泛。",
        ),
        risk=Text(
            "RPS costs interrupts between CPUs and cache; note the masks in rps_cpus first: writing them back takes"
            " it back.",
            "RPS 会增加核间中断并影响缓存；先记录 rps_cpus 的掩码，写回即可回退。",
        ),
        verify=Text(
            "The same load again: column 2 of softnet_stat stands still, no CPU above 30 % in softirqs.",
            "相同负载下：softnet_stat 第 2 列不再增长，没有 CPU 的软中断超过 30 %。",
        ),
        explains=_LOSS,
        suspected_by=("F-NET-UDP-BUFFER-FULL",),
        proven_by=("netrx-flood",),
    ),
    Cause(
        id="packet-loss-upstream",
        title=Text("Packets get lost on the way", "丢包发生在网络途中"),
        what=Text(
            "This host has to send data again, and none of its own counters dropped any: a device or link between it"
            " and the other side does.",
            "本机需要重传数据，而自身计数器均无丢包：丢包发生在本机与对端之间的设备或链路上。",
        ),
        fix=Text(
            "Follow the path hop by hop (mtr, counters of switches and routers), from both ends; give a narrow link"
            " more rate or a longer buffer.",
            "从两端逐跳排查（mtr、交换机与路由器计数）；为瓶颈链路增加带宽或缓冲。",
        ),
        risk=Text(
            "Nothing is to be changed on this host; a detour over another path is taken back by its old route.",
            "本机无需改动；若改走其他路径，恢复旧路由即可回退。",
        ),
        verify=Text(
            "The same load again: data retransmissions below 0.1 %, no timeouts.",
            "相同负载下：数据重传率低于 0.1 %，无超时。",
        ),
        explains=("worker-pool-exhausted",),
        suspected_by=("F-NET-SYN-RETRANS",),
        proven_by=("packet-loss-upstream",),
    ),
    Cause(
        id="nic-link-degraded",
        title=Text("A network link is damaged", "网络链路劣化"),
        what=Text(
            "A cable, transceiver or negotiation is bad: packets arrive damaged, the link goes down and up, or both"
            " ends cannot send at once.",
            "线缆、光模块或协商有问题：报文损坏、链路抖动或仅半双工。",
        ),
        fix=Text(
            "Move to the other link of the bond, then change cable, transceiver and port one after the other.",
            "先切换到 bond 的另一条链路，再依次更换线缆、光模块与端口。",
        ),
        risk=Text(
            "The link goes down for the change; plugging the old one in takes it back.",
            "更换期间链路中断；接回原件即可回退。",
        ),
        verify=Text(
            "Errors of `ip -s -s link` and carrier_changes stand still for an hour.",
            "`ip -s -s link` 错误与 carrier_changes 一小时内不再增长。",
        ),
        explains=_LOSS,
        proven_by=("nic-link",),
    ),
)

_SOCKETS: tuple[Cause, ...] = (
    Cause(
        id="listen-queue-overflow",
        title=Text("A listen queue overflows", "监听队列溢出"),
        what=Text(
            "New connections arrive faster than the program accepts them and its accept queue is too short for the"
            " burst; the kernel drops the last step of the handshake and clients wait for their retransmission.",
            "新连接到达快于程序 accept，接受队列容不下突发；内核丢弃握手的最后一步，客户端只能等待重传。",
        ),
        fix=Text(
            "Raise the backlog of listen() and net.core.somaxconn together; make the program accept faster.",
            "同时提高 listen() 的 backlog 与 net.core.somaxconn，并让程序更快地 accept。",
        ),
        risk=Text(
            "A longer queue hides a slow service behind waiting time; somaxconn acts on listen() calls made later, so"
            " the service must be restarted. To take it back, set the old value and restart.",
            "更长的队列会把慢服务变成等待时间；somaxconn 只对之后的 listen() 生效，需重启服务。回退：恢复旧值并重启。",
        ),
        verify=Text(
            "The same load again: no overflows, no connection times near 1 s, 3 s or 7 s.",
            "相同负载下再次采集：无溢出，且没有接近 1、3、7 秒的连接耗时。",
        ),
        explains=("packet-loss-upstream",),
        suspected_by=("F-NET-BACKLOG-SMALL",),
        proven_by=("listen-overflow",),
    ),
    Cause(
        id="worker-pool-exhausted",
        title=Text("All workers are taken", "工作线程池耗尽"),
        what=Text(
            "Connections always wait to be accepted, and nothing overflows: the few workers each stand still in a"
            " request while CPU is left.",
            "连接始终排队等待接受但没有溢出：少量工作线程都阻塞在请求中，而 CPU 有余量。",
        ),
        fix=Text(
            "Find what a request waits for and shorten it; then size the pool as request rate times time per request,"
            " and half as much again.",
            "找出请求在等待什么并缩短它；再按“请求速率 × 单请求耗时 × 1.5”设置线程池。",
        ),
        risk=Text(
            "More workers put more load on what they wait for, and take memory. Setting the old size takes it back.",
            "更多工作线程会加重下游负载并占用内存。恢复旧值即可回退。",
        ),
        verify=Text(
            "The same load again: the accept queue is empty at most looks, latency near the time of one request.",
            "相同负载下：多数观察中接受队列为空，延迟接近单请求耗时。",
        ),
        explains=("listen-queue-overflow",),
        proven_by=("listen-overflow-lookalike",),
    ),
    Cause(
        id="ephemeral-port-exhaustion",
        title=Text("No local port is left towards a destination", "到某目的地的本地端口耗尽"),
        what=Text(
            "Each connection to one destination needs a local port of its own, and those just closed keep theirs for"
            " a minute; when all are taken connect() fails at once.",
            "到同一目的地的每个连接都需独占一个本地端口，刚关闭的还会占用一分钟；用尽后 connect() 立即失败。",
        ),
        fix=Text(
            "Keep connections open and reuse them (keep-alive, a pool); close those that leak; widen"
            " ip_local_port_range, free reserved ports, or add source or destination addresses.",
            "使用长连接与连接池；关闭泄漏的连接；扩大 ip_local_port_range、释放保留端口，或增加源/目的地址。",
        ),
        risk=Text(
            "A wider range may take ports that services want to listen on: reserve those. Setting the old range takes"
            " it back.",
            "范围扩大可能占用服务监听端口，需将其保留。恢复旧范围即可回退。",
        ),
        verify=Text(
            "The same load again: below half of the ports towards each destination, no EADDRNOTAVAIL.",
            "相同负载下：到每个目的地的端口使用低于一半，无 EADDRNOTAVAIL。",
        ),
        explains=("timewait-port-search", "worker-pool-exhausted"),
        suspected_by=("F-NET-PORT-EXHAUSTION",),
        proven_by=("port-exhaustion",),
    ),
    Cause(
        id="timewait-port-search",
        title=Text("connect() burns CPU to find a free port", "connect() 查找空闲端口消耗 CPU"),
        what=Text(
            "Nearly all local ports towards a destination lie in TIME_WAIT; connect() or bind() tries thousands of"
            " them before it finds a free one, in the kernel and on the CPU.",
            "到目的地的本地端口几乎都处于 TIME_WAIT；connect() 或 bind() 要试上千个才找到空闲的，全部消耗内核 CPU。",
        ),
        fix=Text(
            "Keep connections open and reuse them; set tcp_tw_reuse = 1 where both ends have timestamps; widen"
            " ip_local_port_range; bind with IP_BIND_ADDRESS_NO_PORT.",
            "使用长连接；两端均启用时间戳时设 tcp_tw_reuse = 1；扩大 ip_local_port_range；"
            "绑定地址时用 IP_BIND_ADDRESS_NO_PORT。",
        ),
        risk=Text(
            "A pool must notice connections that died. Never use tcp_tw_recycle: it breaks clients behind NAT. Old"
            " values take it back.",
            "连接池需能识别失效连接。切勿使用 tcp_tw_recycle，它会破坏 NAT 后的客户端。恢复旧值即可回退。",
        ),
        verify=Text(
            "The same load again: connect() takes tens of microseconds, system time falls.",
            "相同负载下：connect() 耗时回到几十微秒，系统态 CPU 下降。",
        ),
        explains=("ephemeral-port-exhaustion", "worker-pool-exhausted"),
        suspected_by=("F-NET-TIMEWAIT-PRESSURE",),
        tested_by=("perf_record",),
        proven_by=("port-search-blind",),
    ),
)

CAUSES: tuple[Cause, ...] = (*_DROPS, *_SOCKETS)
