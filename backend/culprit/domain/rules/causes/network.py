"""Causes related to lost packets, full queues and exhausted ports."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

_LOSS = ("packet-loss-upstream", "worker-pool-exhausted")

_DROPS: tuple[Cause, ...] = (
    Cause(
        id="qdisc-drop",
        title=Text("A queue of this host drops packets", "本机发送队列丢包"),
        what=Text(
            "The queueing discipline of a device is too short or too slow for bursts of this "
            "host. Packets that do not fit are dropped and must be retransmitted.",
            "网卡队列规则过短或过慢，容不下主机瞬时发送的数据；放不下的包被丢弃，只能重传。",
        ),
        fix=Text(
            "Increase the queue (`limit`) to about 20 ms of traffic, raise its rate, or replace "
            "it with fq_codel. Remove netem.",
            "将队列 limit 提高到约 20 毫秒的发送量，或提高速率，或改用 fq_codel；移除 netem。",
        ),
        risk=Text(
            "A longer queue adds delay. Store the output of `tc qdisc show` first. Rollback: `tc "
            "qdisc replace` with the old parameters.",
            "队列越长时延越大。先记录 `tc qdisc show`；用原参数执行 `tc qdisc replace` 即可回退。",
        ),
        verify=Text(
            "Capture again under the same load: `dropped` of `tc -s qdisc` does not increase, "
            "retransmissions below 0.1 %.",
            "相同负载下：`tc -s qdisc` 的 dropped 不再增长，重传率低于 0.1 %。",
        ),
        explains=_LOSS,
        proven_by=("qdisc-drop",),
    ),
    Cause(
        id="firewall-drop",
        title=Text("The firewall of this host drops service traffic", "本机防火墙丢弃业务流量"),
        what=Text(
            "A rule of iptables or nftables drops service packets: at random, above a rate, for an address or a "
            "port, or of connections that the connection table has forgotten. Or rp_filter drops packets whose answer "
            "would leave by another interface. Programs wait for retransmissions or give up.",
            "iptables 或 nftables 规则随机、限速、按地址或端口丢弃业务包，或丢弃连接跟踪表已遗忘的连接的包；"
            "或 rp_filter 丢弃应答会经另一网卡发出的包。程序只能等待重传或放弃。",
        ),
        fix=Text(
            "Remove the rule, or raise its limit above the normal traffic. Add a counter to the rule. For packets of "
            "forgotten connections: send keepalives more often than nf_conntrack_tcp_timeout_established, or raise it. "
            "For rp_filter: correct the routes, or set net.ipv4.conf.DEV.rp_filter to 2 (loose).",
            "删除该规则，或将限速提高到正常流量之上；并为其加计数器。若丢弃的是被遗忘连接的包：使 keepalive 间隔小于 "
            "nf_conntrack_tcp_timeout_established，或调高该值。若为 rp_filter：修正路由，或将 "
            "net.ipv4.conf.DEV.rp_filter 设为 2（宽松）。",
        ),
        risk=Text(
            "The rule may be intended, so check its origin first. Save `iptables-save` or `nft "
            "list ruleset`. Rollback: load the saved rules.",
            "该规则可能是有意为之，先询问来源。先保存 `iptables-save` 或 `nft list ruleset`，重新载入即可回退。",
        ),
        verify=Text(
            "Capture again under the same load: the counter of the rule does not increase, no "
            "handshakes near 1 s or 3 s.",
            "相同负载下：规则计数不再增长，没有接近 1、3 秒的握手。",
        ),
        explains=_LOSS,
        proven_by=("firewall-drop",),
    ),
    Cause(
        id="mtu-too-small",
        title=Text("An MTU is too small", "MTU 过小"),
        what=Text(
            "A device, here or on the way, accepts smaller packets than are sent to it, and no message about it "
            "arrives. Large packets are dropped, so large requests or answers hang while small ones pass.",
            "本机或途中的设备能接收的包长小于发送的包长，且发送方收不到通知；大包被丢弃，大请求或大应答卡住而小的正常。",
        ),
        fix=Text(
            "Set the same MTU on all ends of the network (usually 1500), or announce a smaller MSS.",
            "将网络各端 MTU 设为一致（通常 1500），或通告更小的 MSS。",
        ),
        risk=Text(
            "An MTU above the limit of a tunnel on the path breaks large packets again. "
            "Rollback: restore the old value.",
            "MTU 高于途中隧道的能力会再次破坏大包。恢复旧值即可回退。",
        ),
        verify=Text(
            "`ping -M do -s 1472` succeeds, and the device drops no received packets under the same load.",
            "`ping -M do -s 1472` 可达；相同负载下网卡接收无丢弃。",
        ),
        explains=_LOSS,
        proven_by=("mtu-small",),
    ),
    Cause(
        id="conntrack-table-full",
        title=Text("The connection tracking table is full", "连接跟踪表已满"),
        what=Text(
            "The firewall stores each connection in a table of fixed size. When the table is "
            "full, the first packet of each new connection is dropped without an error.",
            "防火墙用固定大小的表记录连接；表满后每个新连接的首包被静默丢弃。",
        ),
        fix=Text(
            "Raise nf_conntrack_max (and buckets to a quarter of it). Shorten the timeouts of "
            "closed connections. Exclude busy ports from tracking.",
            "提高 nf_conntrack_max（buckets 为其四分之一）；缩短已关闭连接的超时；对繁忙端口使用 notrack。",
        ),
        risk=Text(
            "Each entry uses about 300 bytes of kernel memory. Untracked ports lose NAT and "
            "state rules. Rollback: restore the old value.",
            "每个条目约占 300 字节内核内存；notrack 端口不再有 NAT 与状态匹配。恢复旧值即可回退。",
        ),
        verify=Text(
            "Capture again under the same load: the table stays below 75 %, and `drop` in its "
            "statistics does not increase.",
            "相同负载下：表使用率低于 75 %，统计中的 drop 不再增长。",
        ),
        explains=("firewall-drop", *_LOSS),
        proven_by=("conntrack-full",),
    ),
    Cause(
        id="netrx-softirq-saturation",
        title=Text("A CPU cannot process all received packets", "CPU 收包软中断饱和"),
        what=Text(
            "More packets arrive than the receiving CPU can process in the network stack. Its "
            "backlog is full, and further packets are dropped before any program receives them.",
            "到达的包超过收包 CPU 处理能力；积压队列写满，其余包在程序看到之前就被丢弃。",
        ),
        fix=Text(
            "Distribute receiving over CPUs (device queues, RPS), shorten the path of each "
            "packet (rules, bridges, overlays), or block the flood before it reaches the host.",
            "将收包分散到多个 CPU（网卡多队列、RPS），缩短每包路径（规则、网桥、覆盖网络），或在主机之前拦截洪泛。",
        ),
        risk=Text(
            "RPS adds interrupts between CPUs and cache misses. Store the masks in rps_cpus "
            "first. Rollback: write them back.",
            "RPS 会增加核间中断并影响缓存；先记录 rps_cpus 的掩码，写回即可回退。",
        ),
        verify=Text(
            "Capture again under the same load: column 2 of softnet_stat does not increase, no "
            "CPU above 30 % in softirqs.",
            "相同负载下：softnet_stat 第 2 列不再增长，没有 CPU 的软中断超过 30 %。",
        ),
        # Packets take CPU time before any program does, so programs compete for what is left.
        explains=(*_LOSS, "cpu-exhausted", "cpu-neighbour-contention"),
        proven_by=("netrx-flood",),
    ),
    Cause(
        id="firewall-rules-many",
        title=Text(
            "Each packet passes a long list of firewall rules", "每个数据包都要经过很长的防火墙规则链"
        ),
        what=Text(
            "Rules of a chain are compared one after the other. With thousands of them, each packet takes CPU time "
            "in softirqs, and all connections become slow together.",
            "链中的规则逐条比较。规则成千上万时，每个包都消耗软中断的 CPU 时间，所有连接一起变慢。",
        ),
        fix=Text(
            "Put the addresses into a set (nft set, ipset): one look-up replaces the list. Accept packets of "
            "established connections first. Find who fills the chain: an agent, a blocklist, kube-proxy.",
            "把地址放入集合（nft set、ipset），用一次查找代替整条链；先放行已建立的连接；"
            "找出写入规则者（代理程序、黑名单、kube-proxy）。",
        ),
        risk=Text(
            "A rule in the wrong place opens or closes ports. Save the rule set first (nft list ruleset, "
            "iptables-save). Rollback: load it again.",
            "规则位置不当会误开或误关端口。先保存规则集（nft list ruleset、iptables-save），回退时重新加载。",
        ),
        verify=Text(
            "Capture a profile under the same load: less than a tenth of the CPU time is in the loops over rules.",
            "相同负载下采集性能剖析：规则匹配循环占用的 CPU 时间低于十分之一。",
        ),
        explains=("netrx-softirq-saturation", "cpu-exhausted", "cpu-neighbour-contention"),
        proven_by=("tram-stops",),
    ),
    Cause(
        id="packet-loss-upstream",
        title=Text("Packets are lost on the network path", "丢包发生在网络途中"),
        what=Text(
            "This host retransmits data, but none of its counters shows drops. A device or link "
            "between this host and the peer drops the packets.",
            "本机需要重传数据，而自身计数器均无丢包：丢包发生在本机与对端之间的设备或链路上。",
        ),
        fix=Text(
            "Check the path hop by hop from both ends (mtr, counters of switches and routers). "
            "Give a bottleneck link more bandwidth or a longer buffer.",
            "从两端逐跳排查（mtr、交换机与路由器计数）；为瓶颈链路增加带宽或缓冲。",
        ),
        risk=Text(
            "This host needs no change. Rollback of a detour over another path: restore the old route.",
            "本机无需改动；若改走其他路径，恢复旧路由即可回退。",
        ),
        verify=Text(
            "Capture again under the same load: data retransmissions below 0.1 %, no timeouts.",
            "相同负载下：数据重传率低于 0.1 %，无超时。",
        ),
        explains=("worker-pool-exhausted",),
        proven_by=("packet-loss-upstream",),
    ),
    Cause(
        id="nic-link-degraded",
        title=Text("A network link is damaged", "网络链路劣化"),
        what=Text(
            "A cable, a transceiver or the negotiation is faulty: packets arrive damaged, the "
            "link flaps, or the link is half duplex.",
            "线缆、光模块或协商有问题：报文损坏、链路抖动或仅半双工。",
        ),
        fix=Text(
            "Switch to the other link of the bond. Then replace cable, transceiver and port one "
            "after the other.",
            "先切换到 bond 的另一条链路，再依次更换线缆、光模块与端口。",
        ),
        risk=Text(
            "The link is down during the replacement. Rollback: connect the old part again.",
            "更换期间链路中断；接回原件即可回退。",
        ),
        verify=Text(
            "Errors in `ip -s -s link` and carrier_changes do not increase for an hour.",
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
            "New connections arrive faster than the program accepts them, and its accept queue "
            "is too short for bursts. The kernel drops the last handshake packet, and clients "
            "wait for a retransmission.",
            "新连接到达快于程序 accept，接受队列容不下突发；内核丢弃握手的最后一步，客户端只能等待重传。",
        ),
        fix=Text(
            "Raise the backlog of listen() and net.core.somaxconn together. Make the program accept faster.",
            "同时提高 listen() 的 backlog 与 net.core.somaxconn，并让程序更快地 accept。",
        ),
        risk=Text(
            "A longer queue turns a slow service into wait time. somaxconn applies to later "
            "listen() calls, so restart the service. Rollback: restore the old value and restart.",
            "更长的队列会把慢服务变成等待时间；somaxconn 只对之后的 listen() 生效，需重启服务。回退：恢复旧值并重启。",
        ),
        verify=Text(
            "Capture again under the same load: no overflows, no connection times near 1 s, 3 s or 7 s.",
            "相同负载下再次采集：无溢出，且没有接近 1、3、7 秒的连接耗时。",
        ),
        explains=("packet-loss-upstream",),
        proven_by=("listen-overflow",),
    ),
    Cause(
        id="worker-pool-exhausted",
        title=Text("All workers are busy", "工作线程池耗尽"),
        what=Text(
            "Connections always wait to be accepted, but nothing overflows. The few workers are "
            "all blocked in requests while the CPU is idle.",
            "连接始终排队等待接受但没有溢出：少量工作线程都阻塞在请求中，而 CPU 有余量。",
        ),
        fix=Text(
            "Find what requests wait for and shorten it. Then set the pool size to request rate "
            "× time per request × 1.5.",
            "找出请求在等待什么并缩短它；再按“请求速率 × 单请求耗时 × 1.5”设置线程池。",
        ),
        risk=Text(
            "More workers add load to the dependencies and use memory. Rollback: restore the old size.",
            "更多工作线程会加重下游负载并占用内存。恢复旧值即可回退。",
        ),
        verify=Text(
            "Capture again under the same load: the accept queue is empty in most samples, and "
            "latency is near the time of one request.",
            "相同负载下：多数采样中接受队列为空，延迟接近单请求耗时。",
        ),
        explains=("listen-queue-overflow",),
        tested_by=("worker_pools", "server_logs"),
        proven_by=("listen-overflow-decoy",),
        needs_room=True,
    ),
    Cause(
        id="ephemeral-port-exhaustion",
        title=Text("No local port is free for a destination", "到某目的地的本地端口耗尽"),
        what=Text(
            "Each connection to a destination needs its own local port, and a closed connection "
            "keeps its port for a minute. When all are used, connect() fails immediately.",
            "到同一目的地的每个连接都需独占一个本地端口，刚关闭的还会占用一分钟；用尽后 connect() 立即失败。",
        ),
        fix=Text(
            "Keep connections open and reuse them (keep-alive, a pool). Close leaked "
            "connections. Widen ip_local_port_range, free reserved ports, or add source or "
            "destination addresses.",
            "使用长连接与连接池；关闭泄漏的连接；扩大 ip_local_port_range、释放保留端口，或增加源/目的地址。",
        ),
        risk=Text(
            "A wider range may use ports on which services listen. Reserve those. Rollback: "
            "restore the old range.",
            "范围扩大可能占用服务监听端口，需将其保留。恢复旧范围即可回退。",
        ),
        verify=Text(
            "Capture again under the same load: less than half of the ports per destination are "
            "used, no EADDRNOTAVAIL.",
            "相同负载下：到每个目的地的端口使用低于一半，无 EADDRNOTAVAIL。",
        ),
        explains=("timewait-port-search", "worker-pool-exhausted"),
        proven_by=("port-exhaustion",),
    ),
    Cause(
        id="timewait-port-search",
        title=Text("connect() uses much CPU to find a free port", "connect() 查找空闲端口消耗 CPU"),
        what=Text(
            "Nearly all local ports for a destination are in TIME_WAIT. connect() or bind() "
            "tries thousands of ports in the kernel before it finds a free one.",
            "到目的地的本地端口几乎都处于 TIME_WAIT；connect() 或 bind() 要试上千个才找到空闲的，全部消耗内核 CPU。",
        ),
        fix=Text(
            "Keep connections open and reuse them. Set tcp_tw_reuse = 1 if both ends use "
            "timestamps. Widen ip_local_port_range. Bind with IP_BIND_ADDRESS_NO_PORT.",
            "使用长连接；两端均启用时间戳时设 tcp_tw_reuse = 1；扩大 ip_local_port_range；"
            "绑定地址时用 IP_BIND_ADDRESS_NO_PORT。",
        ),
        risk=Text(
            "A pool must detect dead connections. Never use tcp_tw_recycle: it breaks clients "
            "behind NAT. Rollback: restore the old values.",
            "连接池需能识别失效连接。切勿使用 tcp_tw_recycle，它会破坏 NAT 后的客户端。恢复旧值即可回退。",
        ),
        verify=Text(
            "Capture again under the same load: connect() takes tens of microseconds, and system "
            "time decreases.",
            "相同负载下：connect() 耗时回到几十微秒，系统态 CPU 下降。",
        ),
        mechanisms=("running",),
        explains=("cpu-exhausted", "ephemeral-port-exhaustion", "worker-pool-exhausted"),
        tested_by=("perf_record",),
        proven_by=("port-search-validation",),
    ),
)

CAUSES: tuple[Cause, ...] = (*_DROPS, *_SOCKETS)
