"""Rules about workers behind listening sockets, and about who writes most."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import waits, workers
from culprit.domain.rules.measures.network import listeners
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

_MOSTLY = Threshold("warn", 50.0, "more often than not")

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-SERVER-LATE",
        title=Text("A server keeps its clients waiting", "服务让客户端等待"),
        summary=Text(
            "Requests to {name} wait up to {value} ms: see whether its workers are all busy.",
            "发往 {name} 的请求最长等待 {value} ms：查看其工作进程是否全忙。",
        ),
        measure=waits.OLDEST_REQUEST,
        op=">=",
        thresholds=(("info", Threshold("info", 100.0, "users notice a tenth of a second")),),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        suspects=("worker-pool-exhausted", "connection-limit", "failing-name-resolution"),
        caveats=Text("Long polls and reports wait by design.", "长轮询与报表本就等待。"),
        source="tcp_info of ss: last data sent and received",
    ),
    Rule(
        id="F-WORKERS-ALL-BUSY",
        title=Text("All workers are busy and connections wait", "所有工作进程忙碌且有连接等待"),
        summary=Text(
            "All {workers} workers of {name} at {address} were busy in {value} % of the samples; {queue} "
            "connections wait.",
            "{name}（{address}）的 {workers} 个工作进程在 {value} % 的采样中全忙，{queue} 个连接在等待。",
        ),
        measure=workers.ALL_BUSY,
        op=">",
        thresholds=(("warn", _MOSTLY),),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        also=(
            Condition(workers.QUEUE, ">=", Threshold("queue", 1.0, "at any time one connection waits")),
            Condition(
                workers.PER_WORKER, "<=", Threshold("each", 1.0, "a worker serves one connection at a time")
            ),
        ),
        suspects=("worker-pool-exhausted",),
        causes=("worker-pool-exhausted",),
        harm=True,
        caveats=Text(
            "Why the workers are busy is another question: see what they wait for.",
            "工作进程为何忙碌是另一个问题：查看它们在等待什么。",
        ),
        source="ss -lntxp and -ntxp: owners of the listening socket and of accepted connections",
    ),
    Rule(
        id="F-LISTENER-HOLDS-BACK",
        title=Text("A server accepts no more connections although it is idle", "服务空闲却不再接受连接"),
        summary=Text(
            "Connections to {name} at {address} wait in {value} % of the samples. It holds {connections} "
            "and its CPU is idle.",
            "{name}（{address}）在 {value} % 的采样中有连接等待；它持有 {connections} 个连接且 CPU 空闲。",
        ),
        measure=workers.QUEUED,
        op=">",
        thresholds=(("warn", _MOSTLY),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                workers.PER_WORKER,
                ">",
                Threshold("each", 1.0, "a worker can serve many connections at a time"),
            ),
            Condition(
                workers.AT_MAX,
                ">",
                Threshold("plateau", 50.0, "the number of connections stays at its maximum"),
            ),
            Condition(
                workers.EVENT_WAIT,
                ">",
                Threshold("asleep", 50.0, "a connection would wake it if it might accept"),
            ),
            Condition(
                workers.WORKER_CPU,
                "<",
                Threshold("cpu", 50.0, "more than half of a CPU is free to accept more"),
            ),
        ),
        suspects=("connection-limit",),
        causes=("connection-limit",),
        refuted_by=("F-FILES-HOLD-BACK",),
        harm=True,
        caveats=Text(
            "A worker that is blocked in a disk or a lock accepts nothing either: see what it waits for.",
            "阻塞在磁盘或锁上的进程同样不接受连接：查看它在等待什么。",
        ),
        source="ss -lntxp and -ntxp; /proc/PID/stat",
    ),
    Rule(
        id="F-FILES-HOLD-BACK",
        title=Text(
            "A server accepts nothing because it keeps its last open files",
            "服务为保留最后的文件描述符而不再接受连接",
        ),
        summary=Text(
            "{name} has {open} of {limit} files open ({value} %) and sleeps, although connections wait for it.",
            "{name} 已打开 {limit} 个文件中的 {open} 个（{value} %），虽有连接等待却在休眠。",
        ),
        measure=workers.FILES_USED,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 80.0, "estimate, as F-FILES-NEAR: servers keep some in reserve")),
        ),
        strength=Strength.MECHANISM,
        use=Use("kernel", "saturation"),
        also=(
            Condition(workers.QUEUED, ">", Threshold("queued", 50.0, "more often than not")),
            Condition(
                workers.EVENT_WAIT,
                ">",
                Threshold("sleeps", 50.0, "a connection would wake it if it might accept"),
            ),
        ),
        suspects=("file-descriptor-limit",),
        causes=("file-descriptor-limit",),
        refuted_by=("F-LISTENER-CLOSED",),
        harm=True,
        caveats=Text(
            "A limit of connections that is reached at the same time looks the same.",
            "同时到达的连接数上限与此相同。",
        ),
        source="RLIMIT_NOFILE; Squid accepts only while more than its reserved ones are free (okToAccept)",
    ),
    Rule(
        id="F-LISTENER-CLOSED",
        title=Text("A server accepts no connections any more", "服务已停止接受连接"),
        summary=Text(
            "{process} has set the queue of port {port} to no length, and {value} connections wait in every sample.",
            "{process} 把端口 {port} 的队列长度设为零，每次采样都有 {value} 个连接在等待。",
        ),
        measure=listeners.CLOSED,
        op=">=",
        thresholds=(("warn", Threshold("waiting", 1.0, "an empty queue would show that it accepts")),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("connection-limit",),
        causes=("connection-limit",),
        harm=True,
        caveats=Text(
            "A program that listens with no queue from the start and is blocked looks the same.",
            "一开始就以零长度队列监听且被阻塞的程序与此相同。",
        ),
        source="ss -ltn: Send-Q of 0, set by listen(fd, 0); memcached does so at its limit of connections "
        "(accept_new_conns)",
    ),
    Rule(
        id="F-IO-ONE-WRITER",
        title=Text("One process writes most of all bytes", "单个进程写入了大部分数据"),
        summary=Text(
            "{name} writes {value} % of all bytes that processes write ({kb} kB/s).",
            "{name} 写入了全部进程写入量的 {value} %（{kb} kB/s）。",
        ),
        measure=workers.TOP_WRITER,
        op=">=",
        thresholds=(("info", Threshold("info", 50.0, "more than all other processes together")),),
        strength=Strength.CONTEXT,
        use=Use("disk", "utilization"),
        suspects=("log-flood",),
        caveats=Text(
            "On a quiet host, any process can be the largest writer.",
            "空闲主机上任何进程都可能是最大写入者。",
        ),
        source="/proc/PID/io: write_bytes",
    ),
)
