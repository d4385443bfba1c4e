"""Rules about listen queues and local ports."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.catalog.network.loss import OWN
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.network import sockets_related as details
from culprit.domain.rules.measures.network.listeners import (
    CALLS_OUT_PCT,
    FILL,
    LEAST_FILL,
    LOCK_PCT,
    QUEUE_WAIT,
    RUNNABLE_PCT,
)
from culprit.domain.rules.measures.network.shared_listeners import UNACCEPTED
from culprit.domain.rules.measures.network.sockets import (
    CONNECT_US,
    CONNECTS_FAILED,
    FREE_PORTS,
    NOT_AVAILABLE,
    PORT_SEARCH_PCT,
    PORT_USE_PCT,
    TIME_WAIT_PCT,
)
from culprit.domain.rules.rule import Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_ACCEPTED, _OPENED = (
    MetricReading("tcp.passive_opens_per_s", "mean"),
    MetricReading("tcp.active_opens_per_s", "mean"),
)
_GONE = ("F-NET-PORT-NONE-LEFT", "F-NET-CONNECT-FAILS", "F-NET-EADDRNOTAVAIL")

#: The queue of a burst is empty in some sample; one that is never empty delays every connection (RFC 8289, section 3).
_NOTICEABLE = Threshold("warn", 100.0, "users notice a tenth of a second (Miller 1968)")

_LISTENERS: tuple[Rule, ...] = (
    Rule(
        id="F-NET-LISTEN-OVERFLOW",
        title=Text("A listen queue overflows", "监听队列溢出"),
        summary=Text(
            "{value} connections a second were dropped because their accept queue was full.",
            "每秒 {value} 个连接因接受队列已满而未被接收。",
        ),
        measure=MetricReading("tcp.listen_overflows_per_s", "mean"),
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 0.0, "the counter should not increase")),
            (
                "critical",
                Threshold(
                    "critical", 5.0, "Netdata: 5 per minute is critical; a burst after a restart is less"
                ),
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("network", "saturation"),
        related=(
            details.FULLEST_WAITING,
            details.FULLEST_BACKLOG,
            _ACCEPTED,
            MetricReading("tcp.listen_drops_per_s", "mean"),
        ),
        causes=("listen-queue-overflow",),
        refutes=("listen-queue-overflow",),
        refuted_by=("F-NET-QUEUE-STANDS",),
        harm=True,
        caveats=Text(
            "The counter covers the complete network namespace. A restart causes a short burst.",
            "该计数属于整个网络命名空间；服务重启会造成短暂突增。",
        ),
        source="linux/snmp.h TcpExt.ListenOverflows",
    ),
    Rule(
        id="F-NET-BACKLOG-SMALL",
        title=Text("A listen queue was nearly full", "监听队列接近满"),
        summary=Text(
            "The queue of {process} was at most {value} % full, with {waiting} connections.",
            "{process} 的队列最满时达 {value} %，有 {waiting} 个连接等待。",
        ),
        measure=FILL,
        op=">=",
        thresholds=(("warn", Threshold("warn", 70.0, "the next burst overflows it")),),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "saturation"),
        suspects=("listen-queue-overflow",),
        related=(details.WAITING, details.BACKLOG, _ACCEPTED),
        causes=("listen-queue-overflow",),
        refuted_by=("F-NET-QUEUE-STANDS",),
        caveats=Text(
            "A single sample may be chance. This is the maximum of many samples.",
            "单次观察有偶然性；此处取多次观察的最大值。",
        ),
        source="ss -ltn: Recv-Q against Send-Q of listening sockets",
    ),
    Rule(
        id="F-NET-QUEUE-EMPTIES",
        title=Text("A full accept queue was empty at times", "接受队列时满时空"),
        summary=Text(
            "The queue of {process} was {value} % full in one sample and empty in another one.",
            "{process} 的队列在某次采样中占满 {value} %，在另一次采样中为空。",
        ),
        measure=FILL,
        op=">=",
        thresholds=(("info", Threshold("full", 100.0, "the next connection is dropped")),),
        also=(Condition(LEAST_FILL, "<=", Threshold("empty", 0.0, "the server has accepted all")),),
        strength=Strength.CONTEXT,
        use=Use("network", "saturation"),
        caveats=Text(
            "A server that stops for a moment fills its queue as well.", "服务短暂停顿也会填满队列。"
        ),
        source="RFC 8289, section 3: a queue of bursts empties, that of a server that is too slow does not",
    ),
    Rule(
        id="F-NET-QUEUE-STANDS",
        title=Text("An accept queue is never empty", "接受队列始终不空"),
        summary=Text(
            "In every sample, at least {least} connections to {process} waited, at most {most}. At the rate of new "
            "connections, each waits for {value} ms.",
            "每次采样都至少有 {least} 个到 {process} 的连接在等待（最多 {most}）；"
            "按新建连接的速率，每个等待 {value} ms。",
        ),
        measure=QUEUE_WAIT,
        op=">=",
        thresholds=(("warn", _NOTICEABLE),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        suspects=("worker-pool-exhausted", "connection-limit"),
        related=(details.WAITING, details.BACKLOG, _ACCEPTED),
        causes=("worker-pool-exhausted",),
        refuted_by=("F-NET-QUEUE-UNACCEPTED",),
        harm=True,
        caveats=Text(
            "Other rules determine why the program does not accept: CPU, locks, other services.",
            "程序为何不 accept 由其他规则判断：CPU、锁、下游服务。",
        ),
        source="ss -ltn, the minimum of all samples, over Tcp.PassiveOpens; a longer queue would fill as well, so "
        "overflows do not count",
    ),
    Rule(
        id="F-NET-QUEUE-UNACCEPTED",
        title=Text("A program accepts none of its connections", "程序不接受属于它的连接"),
        summary=Text(
            "{sockets} sockets listen on the same port. At that of {process}, at least {least} connections wait in "
            "every sample, each for {value} ms, while the program is idle and the queue of another socket is empty.",
            "同一端口有 {sockets} 个监听套接字。{process} 的那个每次采样都有至少 {least} 个连接在等待，"
            "每个等待 {value} ms，"
            "而该程序空闲，另一套接字的队列为空。",
        ),
        measure=UNACCEPTED,
        op=">=",
        thresholds=(("warn", _NOTICEABLE),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        related=(details.WAITING, details.BACKLOG, _ACCEPTED),
        causes=("listen-queue-overflow",),
        harm=True,
        caveats=Text(
            "An old process of a release that keeps its listening socket open looks like this.",
            "发布后仍在收尾、却没有关闭监听套接字的旧进程就是这种表现。",
        ),
        source="socket(7), SO_REUSEPORT: the kernel divides connections by a hash, not by the length of the queues",
    ),
    Rule(
        id="F-NET-ACCEPT-STANDING",
        title=Text("Connections always wait for a worker", "连接始终在等待工作线程"),
        summary=Text(
            "In every sample, at least {least} connections waited for {process} to accept them, at most {most}, while "
            "its threads were blocked. At the rate of new connections, each waits for {value} ms.",
            "每次采样都至少有 {least} 个连接等待 {process} 接受（最多 {most}），而其线程处于阻塞；"
            "按新建连接的速率，每个等待 {value} ms。",
        ),
        measure=QUEUE_WAIT,
        op=">=",
        thresholds=(
            ("warn", _NOTICEABLE),
            (
                "critical",
                Threshold(
                    "critical", 1000.0, "after one second users lose their flow of thought (Miller 1968)"
                ),
            ),
        ),
        also=(
            Condition(RUNNABLE_PCT, "<", Threshold("runnable", 50.0, "otherwise they wait for the CPU")),
            Condition(LOCK_PCT, "<", Threshold("locks", 50.0, "otherwise they wait for a lock")),
            Condition(
                CALLS_OUT_PCT, "<", Threshold("calls", 50.0, "otherwise they may wait for another service")
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        causes=("worker-pool-exhausted",),
        refutes=("worker-pool-exhausted",),
        refuted_by=(
            *OWN,
            *_GONE,
            "F-NET-LOSS-ELSEWHERE",
            "F-FLAME-INET-HASH-CONNECT",
            "F-NET-QUEUE-UNACCEPTED",
        ),
        harm=True,
        caveats=Text("A process that was stopped leaves the same queue.", "被暂停的进程也会留下同样的队列。"),
        source="ss -ltn, the minimum of all samples, over Tcp.PassiveOpens; states and wait channels of threads",
    ),
)

_PORTS: tuple[Rule, ...] = (
    Rule(
        id="F-NET-PORT-EXHAUSTION",
        title=Text("Local ports for one destination are running out", "到同一目的地的本地端口将耗尽"),
        summary=Text(
            "{value} % of the local ports for the destination are used: {ports}, of which "
            "{time_wait} are in TIME_WAIT.",
            "到该目的地的本地端口已使用 {value} %：共 {ports} 个，其中 {time_wait} 个为 TIME_WAIT。",
        ),
        measure=PORT_USE_PCT,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 50.0, "from here on, connect() searches longer")),
            ("critical", Threshold("critical", 80.0, "the next burst uses the rest")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "utilization"),
        suspects=("ephemeral-port-exhaustion",),
        related=(details.PORTS, details.IN_TIME_WAIT, details.ESTABLISHED, _OPENED),
        causes=("ephemeral-port-exhaustion",),
        refutes=("ephemeral-port-exhaustion", "timewait-port-search"),
        caveats=Text(
            "More source addresses provide more ports. Reserved ports are subtracted.",
            "多个源地址会成倍增加端口；已扣除保留端口。",
        ),
        source="ss -tan by source and destination, ip_local_port_range, ip_local_reserved_ports",
    ),
    Rule(
        id="F-NET-PORT-NONE-LEFT",
        title=Text("No local port is free", "本地端口已用尽"),
        summary=Text(
            "{value} local ports are free for the destination.", "到该目的地剩余 {value} 个本地端口。"
        ),
        measure=FREE_PORTS,
        op="<=",
        thresholds=(("critical", Threshold("critical", 0.0, "the next connect() fails")),),
        strength=Strength.DIRECT,
        use=Use("network", "saturation"),
        related=(details.PORTS, details.IN_TIME_WAIT, details.ESTABLISHED, _OPENED),
        causes=("ephemeral-port-exhaustion",),
        harm=True,
        source="ss -tan by source and destination, ip_local_port_range, ip_local_reserved_ports",
    ),
    Rule(
        id="F-NET-CONNECT-FAILS",
        title=Text("connect() finds no free port", "connect() 找不到端口"),
        summary=Text(
            "{value} % of the connect() calls sent nothing: {per_s} calls and {opened_per_s} "
            "connections a second.",
            "{value} % 的 connect() 未发出任何包：每秒 {per_s} 次调用，{opened_per_s} 个连接。",
        ),
        measure=CONNECTS_FAILED,
        op=">",
        thresholds=(
            (
                "critical",
                Threshold("critical", 50.0, "the samples of two collectors do not start at the same time"),
            ),
        ),
        also=(Condition(PORT_USE_PCT, ">", Threshold("use", 95.0, "otherwise it fails for another reason")),),
        strength=Strength.MECHANISM,
        use=Use("network", "errors"),
        related=(CONNECT_US, _OPENED),
        causes=("ephemeral-port-exhaustion",),
        harm=True,
        caveats=Text(
            "connect() on local sockets and on UDP sends nothing either.",
            "本地套接字与 UDP 的 connect() 同样不发包。",
        ),
        source="perf trace: connect; Tcp.ActiveOpens",
    ),
    Rule(
        id="F-NET-EADDRNOTAVAIL",
        title=Text("No local address can be assigned", "无法分配本地地址"),
        summary=Text(
            "{value} log lines a second report that no address can be assigned.",
            "日志每秒 {value} 行报告无法分配请求的地址。",
        ),
        measure=NOT_AVAILABLE,
        op=">",
        thresholds=(("critical", Threshold("critical", 0.0, "errno 99 of connect()")),),
        also=(
            Condition(
                PORT_USE_PCT, ">", Threshold("use", 80.0, "a wrong local address causes the same errno")
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(_OPENED, MetricReading("tcp.attempt_fails_per_s", "mean")),
        causes=("ephemeral-port-exhaustion",),
        harm=True,
        source="connect(2): EADDRNOTAVAIL",
    ),
    Rule(
        id="F-NET-TIMEWAIT-PRESSURE",
        title=Text("TIME_WAIT uses the ports for one destination", "TIME_WAIT 占用到同一目的地的端口"),
        summary=Text(
            "{value} % of the local ports for the destination are in TIME_WAIT.",
            "到该目的地 {value} % 的本地端口处于 TIME_WAIT。",
        ),
        measure=TIME_WAIT_PCT,
        op=">",
        thresholds=(("warn", Threshold("warn", 50.0, "every second port that connect() tries is used")),),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "utilization"),
        suspects=("timewait-port-search",),
        related=(details.PORTS, details.IN_TIME_WAIT, _OPENED),
        causes=("timewait-port-search",),
        caveats=Text("A high total over many destinations is normal.", "总数大但分散到多个目的地是正常的。"),
        source="ss -tan by destination; __inet_check_established of the kernel",
    ),
    Rule(
        id="F-FLAME-INET-HASH-CONNECT",
        title=Text("CPU time is spent on the search for a port", "CPU 消耗在查找端口上"),
        summary=Text("{value} % of the CPU time is in {frames}.", "{value} % 的 CPU 时间经过 {frames}。"),
        measure=PORT_SEARCH_PCT,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 5.0, "normally a free port is found at once: below 0.1 %")),
            ("critical", Threshold("critical", 30.0, "a third of the process")),
        ),
        also=(Condition(TIME_WAIT_PCT, ">", Threshold("time_wait", 50.0, "this makes the search long")),),
        strength=Strength.MECHANISM,
        use=Use("network", "saturation"),
        related=(_OPENED, MetricReading("cpu.total_sys_pct", "mean")),
        causes=("timewait-port-search",),
        refuted_by=_GONE,
        source="perf record: __inet_hash_connect, inet_csk_get_port and their callees",
    ),
    Rule(
        id="F-SYSCALL-SLOW-CONNECT",
        title=Text("connect() is slow", "connect() 缓慢"),
        summary=Text(
            "In {comm}, connect() takes {value} us on average.", "{comm} 的 connect() 平均耗时 {value} 微秒。"
        ),
        measure=CONNECT_US,
        op=">",
        thresholds=(("warn", Threshold("warn", 200.0, "a non-blocking connect takes about 20 us")),),
        also=(Condition(TIME_WAIT_PCT, ">", Threshold("time_wait", 50.0, "otherwise the peer is slow")),),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "saturation"),
        related=(_OPENED, MetricReading("cpu.total_sys_pct", "mean")),
        causes=("timewait-port-search",),
        refuted_by=_GONE,
        caveats=Text("A blocking connect() includes the round trip.", "阻塞的 connect() 包含网络往返时间。"),
        source="perf trace -s: connect",
    ),
)

RULES: tuple[Rule, ...] = (*_LISTENERS, *_PORTS)
