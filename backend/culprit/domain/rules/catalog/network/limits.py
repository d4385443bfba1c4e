"""Rules about tables and buffers of the network that are full, and about cards and the CPUs that serve them."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.network import limits
from culprit.domain.rules.measures.network.drops import LINK_USE
from culprit.domain.rules.rule import Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_ANY = Threshold("any", 0.0, "each one is a packet or a connection that was refused")
_RETRANSMITTED = MetricReading("tcp.retrans_pct", "mean")
_SATURATED = Threshold("busy", 95.0, "a CPU without room for more packets: pmie 95 %")
_ROOM = Threshold("others", 50.0, "the other CPUs could do as much again")

_TABLES = (
    Rule(
        id="F-NET-NEIGHBOR-FULL",
        title=Text("The neighbor table is full", "邻居表已满"),
        summary=Text(
            "The table of link addresses ({family}, {entries} of {max}) refused {value} addresses a second.",
            "链路地址表（{family}，{entries}/{max}）每秒拒绝 {value} 个地址。",
        ),
        measure=limits.NEIGHBOR_OVERFLOWS,
        op=">",
        thresholds=(("critical", _ANY),),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(limits.NEIGHBOR_USE,),
        causes=("neighbour-table-full",),
        refutes=("neighbour-table-full",),
        harm=True,
        source="table_fulls of /proc/net/stat/arp_cache and ndisc_cache (net/core/neighbour.c)",
    ),
    Rule(
        id="F-NET-SOCKET-MEMORY",
        title=Text("Socket memory is at its limit", "套接字内存达到限额"),
        summary=Text("{name}: {used} of {max} pages ({value} %).", "{name}：{used}/{max} 页（{value}%）。"),
        measure=limits.SOCKET_MEMORY,
        op=">=",
        thresholds=(("critical", Threshold("limit", 100.0, "beyond the third value the kernel drops data")),),
        strength=Strength.DIRECT,
        use=Use("network", "saturation"),
        related=(MetricReading("tcp.abort_on_memory_per_s"), MetricReading("tcp.prune_called_per_s")),
        causes=("socket-memory-limit",),
        refutes=("socket-memory-limit",),
        harm=True,
        source="/proc/net/sockstat against net.ipv4.tcp_mem and udp_mem",
    ),
    Rule(
        id="F-NET-TCP-PRESSURE",
        title=Text("TCP is under memory pressure", "TCP 处于内存压力状态"),
        summary=Text(
            "TCP was under memory pressure {value} % of the time: windows shrink, data is dropped.",
            "TCP 有 {value}% 的时间处于内存压力：窗口缩小并丢弃数据。",
        ),
        measure=MetricReading("tcp.memory_pressure_pct", "mean"),
        op=">",
        thresholds=(("warn", Threshold("any", 0.0, "tcp_mem is sized so that this never happens")),),
        strength=Strength.MECHANISM,
        use=Use("network", "saturation"),
        related=(limits.SOCKET_MEMORY, _RETRANSMITTED),
        causes=("socket-memory-limit",),
        source="TCPMemoryPressuresChrono: milliseconds above the second value of tcp_mem",
    ),
    Rule(
        id="F-NET-ORPHANS",
        title=Text("Too many sockets without a process", "孤儿套接字过多"),
        summary=Text(
            "{used} of {max} sockets without a process ({value} %): further ones are reset.",
            "孤儿套接字 {used}/{max}（{value}%）：再多即被复位。",
        ),
        measure=limits.ORPHANS,
        op=">=",
        thresholds=(("critical", Threshold("limit", 100.0, "beyond tcp_max_orphans the kernel sends RST")),),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        causes=("socket-memory-limit",),
        harm=True,
        source="/proc/net/sockstat against net.ipv4.tcp_max_orphans",
    ),
    Rule(
        id="F-NET-TIME-WAIT-OVERFLOW",
        title=Text("The table of TIME_WAIT is full", "TIME_WAIT 表已满"),
        summary=Text(
            "{value} connections a second were closed without TIME_WAIT.",
            "每秒 {value} 个连接未经 TIME_WAIT 即被关闭。",
        ),
        measure=MetricReading("tcp.time_wait_overflows_per_s", "mean"),
        op=">",
        thresholds=(
            ("warn", Threshold("any", 0.0, "late segments can then reset a new connection: RFC 1337")),
        ),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(MetricReading("tcp.time_wait_per_s"), MetricReading("tcp.out_rsts_per_s")),
        causes=("time-wait-table-full",),
        refutes=("time-wait-table-full",),
        source="TCPTimeWaitOverflow: net.ipv4.tcp_max_tw_buckets is reached",
    ),
    Rule(
        id="F-NET-SYN-COOKIES",
        title=Text("Handshakes are answered with SYN cookies", "握手以 SYN cookie 应答"),
        summary=Text(
            "{value} handshakes a second found the SYN queue full and got a cookie.",
            "每秒 {value} 次握手因 SYN 队列已满而使用 cookie。",
        ),
        measure=MetricReading("tcp.syncookies_sent_per_s", "mean"),
        op=">",
        thresholds=(("warn", Threshold("any", 0.0, "cookies are sent only if the queue is full: tcp(7)")),),
        also=(
            Condition(
                MetricReading("tcp.listen_overflows_per_s", "mean"),
                "<=",
                Threshold("overflows", 0.0, "a full accept queue fills the SYN queue behind it"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("network", "saturation"),
        related=(MetricReading("tcp.passive_opens_per_s"), MetricReading("tcp.embryonic_rsts_per_s")),
        causes=("syn-backlog-overflow",),
        refutes=("syn-backlog-overflow",),
        caveats=Text(
            "With cookies no connection is lost; a flood of SYN does no harm by this alone.",
            "使用 cookie 不会丢失连接，仅此一点不构成危害。",
        ),
        source="SyncookiesSent of /proc/net/netstat",
    ),
    Rule(
        id="F-NET-SYN-DROP",
        title=Text("Handshakes are dropped", "握手被丢弃"),
        summary=Text(
            "{value} handshakes a second were dropped because the SYN queue is full.",
            "SYN 队列已满，每秒丢弃 {value} 次握手。",
        ),
        measure=MetricReading("tcp.req_q_full_drop_per_s", "mean"),
        op=">",
        thresholds=(("critical", _ANY),),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(MetricReading("tcp.syncookies_sent_per_s"), MetricReading("tcp.passive_opens_per_s")),
        causes=("syn-backlog-overflow",),
        harm=True,
        source="TCPReqQFullDrop of /proc/net/netstat: the SYN queue is full and cookies are off",
    ),
    Rule(
        id="F-NET-WINDOW-CLOSED",
        title=Text("A program does not read its socket", "程序没有读取套接字"),
        summary=Text(
            "This host closed a receive window {value} times a second, because the buffer behind it is full.",
            "接收缓冲已满，本机每秒 {value} 次要求发送方停止。",
        ),
        measure=MetricReading("tcp.zero_windows_sent_per_s", "mean"),
        op=">",
        thresholds=(
            (
                "warn",
                Threshold(
                    "rate", 5.0, "a sender that stops probes after 200 ms: five of them are one thread"
                ),
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "saturation"),
        related=(MetricReading("tcp.rcvq_drop_per_s"), MetricReading("tcp.prune_called_per_s")),
        causes=("slow-receiver",),
        refutes=("slow-receiver",),
        caveats=Text(
            "A reader that limits itself (a download with a limit) closes the window as intended.",
            "自我限速的读取方（如限速下载）会有意关闭窗口。",
        ),
        source="TCPToZeroWindowAdv; RFC 9293 3.8.6.1, TCP_RTO_MIN of the kernel",
    ),
)

_CARDS = (
    Rule(
        id="F-NET-RING-DROP",
        title=Text("The receive ring of a card has no room", "网卡接收环已满"),
        summary=Text(
            "{value} of a thousand packets found no buffer in the ring of {dev} ({kind}).",
            "{dev} 每千个包有 {value} 个因接收环无缓冲被丢弃（{kind}）。",
        ),
        measure=limits.RING_DROPS,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn", 0.1, "as for damaged packets: a healthy link loses less than one in 10,000"
                ),
            ),
            ("critical", Threshold("critical", 10.0, "1 %")),
        ),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(MetricReading("net.rx_pps"), _RETRANSMITTED),
        causes=("nic-ring-drops",),
        refutes=("nic-ring-drops",),
        harm=True,
        source="rx_missed_errors, rx_fifo_errors (Documentation/networking/statistics.rst), ethtool -S",
    ),
    Rule(
        id="F-NET-LINK-FULL",
        title=Text("A link is full", "链路已满"),
        summary=Text("{value} % of the link speed is used.", "链路速率已使用 {value} %。"),
        measure=LINK_USE,
        op=">=",
        thresholds=(
            (
                "critical",
                Threshold("full", 95.0, "preamble, gap and checksum take 24 of 1,538 bytes of a full frame"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("network", "saturation"),
        related=(_RETRANSMITTED,),
        causes=("link-saturated",),
        refutes=("link-saturated",),
        caveats=Text(
            "Virtual devices report no speed, and limits of a cloud are not visible on the host.",
            "虚拟网卡没有速率，云厂商的限速在主机上不可见。",
        ),
        source="/proc/net/dev against the speed of the device (IEEE 802.3: 1,514 of 1,538 bytes are counted) or the "
        "rate of a token bucket at its root (tc-tbf(8))",
    ),
    Rule(
        id="F-NET-ONE-QUEUE",
        title=Text("One CPU serves the only receive queue", "单个 CPU 处理唯一的接收队列"),
        summary=Text(
            "CPU {cpu} is {value} % busy with packets, the others {others} %. The card has one receive queue.",
            "CPU {cpu} 因收包 {value}% 繁忙，其余为 {others}%；网卡只有一个接收队列。",
        ),
        measure=limits.SINGLE_QUEUE_CPU,
        op=">=",
        thresholds=(("warn", _SATURATED),),
        also=(Condition(limits.OTHER_CPUS, "<=", _ROOM),),
        strength=Strength.MECHANISM,
        use=Use("network", "saturation"),
        causes=("single-queue-nic",),
        refutes=("single-queue-nic",),
        source="/sys/class/net/*/queues, rps_cpus; /proc/net/softnet_stat and /proc/stat by CPU",
    ),
    Rule(
        id="F-NET-IRQ-IMBALANCE",
        title=Text("One CPU handles the packets of all queues", "单个 CPU 处理所有队列的报文"),
        summary=Text(
            "CPU {cpu} is {value} % busy with packets, the others {others} %, though there are several queues.",
            "虽有多个队列，CPU {cpu} 仍因收包 {value}% 繁忙，其余为 {others}%。",
        ),
        measure=limits.SEVERAL_QUEUES_CPU,
        op=">=",
        thresholds=(("warn", _SATURATED),),
        also=(Condition(limits.OTHER_CPUS, "<=", _ROOM),),
        strength=Strength.MECHANISM,
        use=Use("network", "saturation"),
        causes=("irq-imbalance",),
        refutes=("irq-imbalance",),
        caveats=Text(
            "One heavy connection stays on one CPU by design (RSS hashes by connection).",
            "单个大流量连接固定在一个 CPU 上属正常（RSS 按连接哈希）。",
        ),
        source="/sys/class/net/*/queues, rps_cpus; /proc/net/softnet_stat and /proc/stat by CPU",
    ),
)

RULES: tuple[Rule, ...] = (*_TABLES, *_CARDS)
