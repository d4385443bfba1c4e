"""Rules about listen queues and local ports."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.catalog.network_loss import OWN
from culprit.core.rules.contract import Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures import sockets_told as told
from culprit.core.rules.measures.network_sockets import (
    CALLS_OUT_PCT,
    CONNECT_US,
    CONNECTS_FAILED,
    FILL,
    FREE_PORTS,
    LOCK_PCT,
    NOT_AVAILABLE,
    PORT_SEARCH_PCT,
    PORT_USE_PCT,
    RUNNABLE_PCT,
    STANDING,
    TIME_WAIT_PCT,
)

_ACCEPTED, _OPENED = Over("tcp.passive_opens_per_s", "mean"), Over("tcp.active_opens_per_s", "mean")
_GONE = ("F-NET-PORT-NONE-LEFT", "F-NET-CONNECT-FAILS", "F-NET-EADDRNOTAVAIL")

_LISTENERS: tuple[Rule, ...] = (
    Rule(
        id="F-NET-LISTEN-OVERFLOW",
        title=Text("A listen queue overflows", "监听队列溢出"),
        says=Text(
            "{value} connections a second found their accept queue full and were not taken.",
            "每秒 {value} 个连接因接受队列已满而未被接收。",
        ),
        measure=Over("tcp.listen_overflows_per_s", "mean"),
        op=">",
        levels=(
            ("warn", Limit("warn", 0.0, "a counter that should stand still")),
            (
                "critical",
                Limit("critical", 5.0, "Netdata: 5 a minute critical; a burst after a restart is less"),
            ),
        ),
        grade=Grade.DIRECT,
        beside=(
            told.FULLEST_WAITING,
            told.FULLEST_BACKLOG,
            _ACCEPTED,
            Over("tcp.listen_drops_per_s", "mean"),
        ),
        causes=("listen-queue-overflow",),
        refutes=("listen-queue-overflow",),
        refuted_by=("F-NET-QUEUE-STANDS",),
        traps=Text(
            "The counter is of the whole network namespace; a restart causes a short burst.",
            "该计数属于整个网络命名空间；服务重启会造成短暂突增。",
        ),
        source="linux/snmp.h TcpExt.ListenOverflows",
    ),
    Rule(
        id="F-NET-BACKLOG-SMALL",
        title=Text("A listen queue was nearly full", "监听队列接近满"),
        says=Text(
            "The queue of {process} was {value} % full at its fullest, with {waiting} connections.",
            "{process} 的队列最满时达 {value} %，有 {waiting} 个连接等待。",
        ),
        measure=FILL,
        op=">=",
        levels=(("warn", Limit("warn", 70.0, "the next burst overflows it")),),
        grade=Grade.CORRELATIONAL,
        beside=(told.WAITING, told.BACKLOG, _ACCEPTED),
        causes=("listen-queue-overflow",),
        refuted_by=("F-NET-QUEUE-STANDS",),
        traps=Text(
            "One look is chance; this is the fullest of many.", "单次观察有偶然性；此处取多次观察的最大值。"
        ),
        source="ss -ltn: Recv-Q against Send-Q of listening sockets",
    ),
    Rule(
        id="F-NET-QUEUE-STANDS",
        title=Text("An accept queue never empties", "接受队列始终不空"),
        says=Text(
            "At least {value} connections to {process} waited at every look, up to {most}.",
            "每次观察都至少有 {value} 个到 {process} 的连接在等待（最多 {most}）。",
        ),
        measure=STANDING,
        op=">=",
        levels=(
            ("warn", Limit("warn", 5.0, "a queue of bursts is empty at some of dozens of looks (RFC 8289)")),
        ),
        grade=Grade.CORRELATIONAL,
        beside=(told.WAITING, told.BACKLOG, _ACCEPTED),
        causes=("worker-pool-exhausted",),
        traps=Text(
            "Why the program does not accept is for other rules: CPU, locks, other services.",
            "程序为何不 accept 由其他规则判断：CPU、锁、下游服务。",
        ),
        source="ss -ltn, the emptiest of all looks; a longer one would fill as well, so overflows do not count",
    ),
    Rule(
        id="F-NET-ACCEPT-STANDING",
        title=Text("Connections always wait for a worker", "连接始终在等待工作线程"),
        says=Text(
            "At least {value} connections to {process} waited to be accepted at every look, up to {most}, while"
            " its threads stood still.",
            "每次观察都至少有 {value} 个连接等待 {process} 接受（最多 {most}），而其线程处于阻塞。",
        ),
        measure=STANDING,
        op=">=",
        levels=(
            ("warn", Limit("warn", 5.0, "a queue of bursts is empty at some of dozens of looks (RFC 8289)")),
            ("critical", Limit("critical", 50.0, "clients wait for dozens before them")),
        ),
        also=(
            Condition(RUNNABLE_PCT, "<", Limit("runnable", 50.0, "else the CPU is what they wait for")),
            Condition(LOCK_PCT, "<", Limit("locks", 50.0, "else it is a lock that they wait for")),
            Condition(CALLS_OUT_PCT, "<", Limit("calls", 50.0, "else it may be another service")),
        ),
        grade=Grade.MECHANISM,
        causes=("worker-pool-exhausted",),
        refutes=("worker-pool-exhausted",),
        refuted_by=(*OWN, *_GONE, "F-NET-LOSS-ELSEWHERE", "F-FLAME-INET-HASH-CONNECT"),
        traps=Text("A process that was stopped leaves the same queue.", "被暂停的进程也会留下同样的队列。"),
        source="ss -ltn, the emptiest of all looks; states and wait channels of threads",
    ),
)

_PORTS: tuple[Rule, ...] = (
    Rule(
        id="F-NET-PORT-EXHAUSTION",
        title=Text("Local ports towards one destination run out", "到同一目的地的本地端口将耗尽"),
        says=Text(
            "{value} % of the local ports towards the destination are in use: {ports}, of which {time_wait} in"
            " TIME_WAIT.",
            "到该目的地的本地端口已使用 {value} %：共 {ports} 个，其中 {time_wait} 个为 TIME_WAIT。",
        ),
        measure=PORT_USE_PCT,
        op=">",
        levels=(
            ("warn", Limit("warn", 50.0, "connect() searches longer from here on")),
            ("critical", Limit("critical", 80.0, "the next burst takes the rest")),
        ),
        grade=Grade.CORRELATIONAL,
        beside=(told.PORTS, told.IN_TIME_WAIT, told.ESTABLISHED, _OPENED),
        causes=("ephemeral-port-exhaustion",),
        refutes=("ephemeral-port-exhaustion", "timewait-port-search"),
        traps=Text(
            "More source addresses have more ports; reserved ones are taken off.",
            "多个源地址会成倍增加端口；已扣除保留端口。",
        ),
        source="ss -tan by source and destination, ip_local_port_range, ip_local_reserved_ports",
    ),
    Rule(
        id="F-NET-PORT-NONE-LEFT",
        title=Text("No local port is left", "本地端口已用尽"),
        says=Text(
            "{value} local ports are left towards the destination.", "到该目的地剩余 {value} 个本地端口。"
        ),
        measure=FREE_PORTS,
        op="<=",
        levels=(("critical", Limit("critical", 0.0, "the next connect() fails")),),
        grade=Grade.DIRECT,
        beside=(told.PORTS, told.IN_TIME_WAIT, told.ESTABLISHED, _OPENED),
        causes=("ephemeral-port-exhaustion",),
        source="ss -tan by source and destination, ip_local_port_range, ip_local_reserved_ports",
    ),
    Rule(
        id="F-NET-CONNECT-FAILS",
        title=Text("connect() finds no port", "connect() 找不到端口"),
        says=Text(
            "{value} % of the calls of connect() sent nothing: {per_s} calls a second, {opened_per_s} connections.",
            "{value} % 的 connect() 未发出任何包：每秒 {per_s} 次调用，{opened_per_s} 个连接。",
        ),
        measure=CONNECTS_FAILED,
        op=">",
        levels=(("critical", Limit("critical", 50.0, "readings of two collectors do not start together")),),
        also=(Condition(PORT_USE_PCT, ">", Limit("use", 95.0, "else it fails for another reason")),),
        grade=Grade.MECHANISM,
        beside=(CONNECT_US, _OPENED),
        causes=("ephemeral-port-exhaustion",),
        traps=Text(
            "connect() to local sockets and of UDP sends nothing either.",
            "本地套接字与 UDP 的 connect() 同样不发包。",
        ),
        source="perf trace: connect; Tcp.ActiveOpens",
    ),
    Rule(
        id="F-NET-EADDRNOTAVAIL",
        title=Text("The application is refused a local address", "应用得不到本地地址"),
        says=Text(
            "{value} lines a second say that no address can be assigned.",
            "日志每秒 {value} 行报告无法分配请求的地址。",
        ),
        measure=NOT_AVAILABLE,
        op=">",
        levels=(("critical", Limit("critical", 0.0, "errno 99 of connect()")),),
        also=(
            Condition(PORT_USE_PCT, ">", Limit("use", 80.0, "a wrong local address gives the same errno")),
        ),
        grade=Grade.DIRECT,
        beside=(_OPENED, Over("tcp.attempt_fails_per_s", "mean")),
        causes=("ephemeral-port-exhaustion",),
        source="connect(2): EADDRNOTAVAIL",
    ),
    Rule(
        id="F-NET-TIMEWAIT-PRESSURE",
        title=Text("TIME_WAIT takes the ports to one destination", "TIME_WAIT 占用到同一目的地的端口"),
        says=Text(
            "{value} % of the local ports towards the destination are in TIME_WAIT.",
            "到该目的地 {value} % 的本地端口处于 TIME_WAIT。",
        ),
        measure=TIME_WAIT_PCT,
        op=">",
        levels=(("warn", Limit("warn", 50.0, "every second port that connect() tries is taken")),),
        grade=Grade.CORRELATIONAL,
        beside=(told.PORTS, told.IN_TIME_WAIT, _OPENED),
        causes=("timewait-port-search",),
        traps=Text("A great total over many destinations is fine.", "总数大但分散到多个目的地是正常的。"),
        source="ss -tan by destination; __inet_check_established of the kernel",
    ),
    Rule(
        id="F-FLAME-INET-HASH-CONNECT",
        title=Text("CPU time goes into the search for a port", "CPU 消耗在查找端口上"),
        says=Text("{value} % of the CPU time runs through {frames}.", "{value} % 的 CPU 时间经过 {frames}。"),
        measure=PORT_SEARCH_PCT,
        op=">",
        levels=(
            ("warn", Limit("warn", 5.0, "a free port is normally found at once: below 0.1 %")),
            ("critical", Limit("critical", 30.0, "a third of the process")),
        ),
        also=(Condition(TIME_WAIT_PCT, ">", Limit("time_wait", 50.0, "what makes the search long")),),
        grade=Grade.MECHANISM,
        beside=(_OPENED, Over("cpu.total_sys_pct", "mean")),
        causes=("timewait-port-search",),
        refuted_by=_GONE,
        source="perf record: __inet_hash_connect, inet_csk_get_port and what they call",
    ),
    Rule(
        id="F-SYSCALL-SLOW-CONNECT",
        title=Text("connect() is slow", "connect() 缓慢"),
        says=Text(
            "connect() takes {value} us on average in {comm}.", "{comm} 的 connect() 平均耗时 {value} 微秒。"
        ),
        measure=CONNECT_US,
        op=">",
        levels=(("warn", Limit("warn", 200.0, "a non-blocking connect takes some 20 us")),),
        also=(Condition(TIME_WAIT_PCT, ">", Limit("time_wait", 50.0, "a slow peer is slow without it")),),
        grade=Grade.CORRELATIONAL,
        beside=(_OPENED, Over("cpu.total_sys_pct", "mean")),
        causes=("timewait-port-search",),
        refuted_by=_GONE,
        traps=Text("A blocking connect() includes the round trip.", "阻塞的 connect() 包含网络往返时间。"),
        source="perf trace -s: connect",
    ),
)

RULES: tuple[Rule, ...] = (*_LISTENERS, *_PORTS)
