"""Causes related to tables and buffers of the network, and to cards and the CPUs that serve them."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

_LOSS = ("packet-loss-upstream", "slow-dependency", "worker-pool-exhausted")

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="neighbour-table-full",
        title=Text("The neighbor table is full", "邻居表已满"),
        what=Text(
            "More neighbors are in use than gc_thresh3 allows. Packets to a further one are dropped without a reply.",
            "使用中的邻居数超过 gc_thresh3，发往其他邻居的包被直接丢弃。",
        ),
        fix=Text(
            "Raise net.ipv4.neigh.default.gc_thresh1 to 3 (ipv6 as well) above the number of hosts in the segment.",
            "将 net.ipv4.neigh.default.gc_thresh1～3（ipv6 同样）提高到网段主机数以上。",
        ),
        risk=Text(
            "Each entry takes under 1 KiB. Rollback: the old values.", "每项不到 1 KiB。回退：恢复旧值。"
        ),
        verify=Text("table_fulls does not grow.", "table_fulls 不再增长。"),
        explains=_LOSS,
    ),
    Cause(
        id="socket-memory-limit",
        title=Text("Socket memory is at its limit", "套接字内存达到限额"),
        what=Text(
            "All sockets together use more memory than tcp_mem or udp_mem allows, or too many are without a process. "
            "Windows shrink, data is dropped, connections are reset.",
            "全部套接字内存超过 tcp_mem 或 udp_mem，或孤儿套接字过多：窗口缩小、丢弃数据、复位连接。",
        ),
        fix=Text(
            "Find sockets with full queues (ss -m) and who does not read. Raise the limit only then.",
            "用 ss -m 找出队列积压的套接字及不读取的程序，之后再考虑提高限额。",
        ),
        risk=Text(
            "Socket memory is taken from programs. Rollback: the old values.",
            "会占用程序的内存。回退：恢复旧值。",
        ),
        verify=Text("Less than the first value of tcp_mem is used.", "用量低于 tcp_mem 的第一个值。"),
        explains=_LOSS,
    ),
    Cause(
        id="time-wait-table-full",
        title=Text("The table of TIME_WAIT is full", "TIME_WAIT 表已满"),
        what=Text(
            "More connections close than tcp_max_tw_buckets holds. Further ones close at once.",
            "关闭的连接超过 tcp_max_tw_buckets，其余被立即关闭，迟到的段会触发复位。",
        ),
        fix=Text(
            "Keep connections open, or let the client close them. Then raise tcp_max_tw_buckets.",
            "使用长连接，或由客户端关闭；再提高 tcp_max_tw_buckets。",
        ),
        risk=Text(
            "Each entry takes under 300 bytes. Rollback: the old value.",
            "每项不到 300 字节。回退：恢复旧值。",
        ),
        verify=Text("TCPTimeWaitOverflow does not grow.", "TCPTimeWaitOverflow 不再增长。"),
    ),
    Cause(
        id="syn-backlog-overflow",
        title=Text("The SYN queue overflows", "SYN 队列溢出"),
        what=Text(
            "Handshakes begin faster than they end: a flood, a slow way back, or a short queue.",
            "握手开始的速度快于完成：SYN 洪泛、到客户端的回程缓慢，或队列过短。",
        ),
        fix=Text(
            "Keep tcp_syncookies=1. Raise tcp_max_syn_backlog and the backlog of listen(). Filter a flood in front.",
            "保持 tcp_syncookies=1；提高 tcp_max_syn_backlog 与 listen() 的 backlog；在前端过滤洪泛。",
        ),
        risk=Text(
            "Cookies drop some TCP options of a connection. Rollback: the old values.",
            "cookie 会丢失部分 TCP 选项。回退：恢复旧值。",
        ),
        verify=Text("No SYN is dropped and no cookie is sent.", "不再丢弃 SYN，也不再发送 cookie。"),
        explains=("packet-loss-upstream",),
        proven_by=("syn-backlog",),
    ),
    Cause(
        id="slow-receiver",
        title=Text("A program reads its socket too slowly", "程序读取套接字过慢"),
        what=Text(
            "The receive buffer is full, so the window closes and the sender waits.",
            "接收缓冲已满，窗口关闭，发送方等待。",
        ),
        fix=Text(
            "Find the socket with a full receive queue (ss -tm) and why its program does not read.",
            "用 ss -tm 找到接收队列已满的套接字，查明其程序为何不读取。",
        ),
        risk=Text(
            "Larger buffers only delay it. Rollback: the old buffer size.",
            "加大缓冲只是推迟。回退：恢复旧缓冲。",
        ),
        verify=Text("No window of zero is sent under the same load.", "相同负载下不再发送零窗口。"),
        explains=("slow-dependency", "worker-pool-exhausted"),
        mechanisms=("client", "peer"),
        proven_by=("zero-window",),
    ),
    Cause(
        id="nic-ring-drops",
        title=Text("The receive ring of a card is too short", "网卡接收环过短"),
        what=Text(
            "Packets arrive faster than the host empties the ring of the card, which then drops them.",
            "报文到达快于主机取走，网卡接收环溢出而丢包。",
        ),
        fix=Text(
            "Lengthen the ring (ethtool -G DEV rx N), spread the queues over more CPUs, and find what keeps them busy.",
            "加长接收环（ethtool -G DEV rx N），将队列分散到更多 CPU，并找出其繁忙原因。",
        ),
        risk=Text(
            "Changing the ring resets the link for a moment. Rollback: the old length.",
            "更改接收环会使链路短暂中断。回退：恢复旧长度。",
        ),
        verify=Text("rx_missed_errors does not grow.", "rx_missed_errors 不再增长。"),
        explains=("nic-link-degraded", *_LOSS),
    ),
    Cause(
        id="link-saturated",
        title=Text("A network link is full", "网络链路已满"),
        what=Text(
            "The traffic of one direction reaches the speed of the link. Packets wait and are dropped.",
            "某方向流量达到链路速率，报文排队并被丢弃。",
        ),
        fix=Text(
            "Find the largest flow (ss -ti, iftop). Limit or move it (backup, replication), or use a faster link.",
            "找出最大的流（ss -ti、iftop），限速或迁移（备份、复制），压缩，或升级链路。",
        ),
        risk=Text(
            "What is limited takes longer. Rollback: remove the limit.", "被限速者更慢。回退：撤销限速。"
        ),
        verify=Text("The link is below 80 % at the peak.", "高峰时链路低于 80%。"),
        explains=("qdisc-drop", *_LOSS),
        mechanisms=("peer", "client"),
        proven_by=("link-saturated",),
    ),
    Cause(
        id="irq-imbalance",
        title=Text("One CPU handles all packets", "所有报文由单个 CPU 处理"),
        what=Text(
            "The card has several queues, but their interrupts go to one CPU, which is saturated.",
            "网卡有多个队列，但中断都到同一个 CPU，该 CPU 已饱和。",
        ),
        fix=Text(
            "Run irqbalance, or set /proc/irq/N/smp_affinity_list so that each queue has its own CPU.",
            "运行 irqbalance，或设置 /proc/irq/N/smp_affinity_list 让每个队列使用各自的 CPU。",
        ),
        risk=Text(
            "Programs on the other CPUs lose some time. Rollback: the old affinity.",
            "其他 CPU 上的程序会损失少量时间。回退：恢复旧亲和性。",
        ),
        verify=Text(
            "No CPU spends more than half of its time on softirqs.", "没有 CPU 将一半以上时间用于软中断。"
        ),
        explains=("netrx-softirq-saturation", "nic-ring-drops", "kernel-thread-busy"),
        mechanisms=("runnable",),
    ),
    Cause(
        id="single-queue-nic",
        title=Text("The card has one queue and RPS is off", "网卡只有一个队列且未启用 RPS"),
        what=Text(
            "One CPU takes all packets of the only receive queue and is saturated, while others are idle.",
            "唯一接收队列的所有报文由一个 CPU 处理并已饱和，而其他 CPU 空闲。",
        ),
        fix=Text(
            "Add queues (ethtool -L DEV combined N; multiqueue of the VM), or set rps_cpus of the queue.",
            "增加队列（ethtool -L DEV combined N；虚拟机 multiqueue），或设置该队列的 rps_cpus。",
        ),
        risk=Text(
            "RPS costs an interrupt between CPUs for each batch. Rollback: write 0 to rps_cpus.",
            "RPS 每批报文需要一次核间中断。回退：向 rps_cpus 写入 0。",
        ),
        verify=Text("The packets are spread over several CPUs.", "报文分散到多个 CPU。"),
        explains=("netrx-softirq-saturation", "nic-ring-drops", "kernel-thread-busy"),
        mechanisms=("runnable",),
    ),
    Cause(
        id="connections-refused",
        title=Text("Connections to a service are refused or have no route", "到某服务的连接被拒绝或无路由"),
        what=Text(
            "Nothing listens at an address that a program calls, a firewall rejects it, or no route goes there. Each "
            "request that needs it fails at once.",
            "程序所访问的地址上没有服务在监听，或被防火墙拒绝，或没有路由；依赖它的请求会立即失败。",
        ),
        fix=Text(
            "The log of the caller names the address. Start the service there (`systemctl status`, `ss -ltn`), or "
            "correct the address, the route (`ip route get ADDRESS`) or the rule that rejects it.",
            "调用方的日志写有该地址。在该处启动服务（`systemctl status`、`ss -ltn`），或修正地址、路由"
            "（`ip route get 地址`）或拒绝它的规则。",
        ),
        risk=Text(
            "A service that ended because of an error may end again or damage data: read its log first. Rollback: stop "
            "it, or restore the old route.",
            "因错误退出的服务可能再次退出或损坏数据：请先查看其日志。回退：停止它，或恢复原路由。",
        ),
        verify=Text(
            "Capture again under the same load: no connection of this host is refused, and no request fails.",
            "相同负载下再次采集：本机发起的连接不再被拒绝，请求不再失败。",
        ),
        takes_no_time=True,
        proven_by=("stock-not-listening", "stock-without-a-route"),
    ),
)
