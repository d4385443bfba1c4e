"""Rules about what all requests of a process pass through: its pool of connections, its one thread."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import pools, waits
from culprit.domain.rules.measures.service_time import inner_queues, shares
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

#: The busiest thread is the one that reads what clients send.
READS_CLIENTS = Condition(
    pools.HANDED_WORK,
    "<",
    Threshold(
        "handed", 50.0, "percent of its sleep: else it mostly waits for work of another thread, or a lock"
    ),
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-POOL-CONNECTIONS-BUSY",
        title=Text("All connections of a pool are busy", "连接池中的连接全部占用"),
        summary=Text(
            "{name} waits on {value} % of its {connections} connections to {peer}, while it holds {held} requests.",
            "{name} 到 {peer} 的 {connections} 个连接有 {value} % 在等待应答，同时手中有 {held} 个请求。",
        ),
        measure=pools.POOL_USE,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 90.0, "with nine of ten busy, a request rarely finds a free one")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                pools.QUEUE_RATIO,
                ">=",
                Threshold("queue", 2.0, "for each request that is sent one waits inside"),
            ),
            Condition(
                pools.TIME_RATIO,
                ">=",
                Threshold("time", 2.0, "callers wait longer inside than for the peer itself"),
            ),
        ),
        suspects=("connection-pool-exhausted",),
        causes=("connection-pool-exhausted",),
        caveats=Text(
            "If the peer itself is slow, a larger pool only moves the queue there.",
            "若对端本身就慢，增大连接池只会把队列移到对端。",
        ),
        source="tcp_info of ss: the last data sent and received on each connection",
    ),
    *(
        Rule(
            id=name,
            title=title,
            summary=Text(
                "{name} holds {held} requests that wait inside it, {value} for each of its {connections} connections "
                "to {peer}.",
                "{name} 手中有 {held} 个请求停在程序内部，到 {peer} 只有 {connections} 个连接（每个连接 {value} 个）。",
            ),
            measure=measure,
            op=">=",
            thresholds=(
                ("warn", Threshold("warn", 2.0, "for each request that can be sent two wait inside")),
            ),
            strength=strength,
            use=Use("application", "saturation"),
            also=(
                Condition(shares.UNSEEN, ">=", Threshold("unseen", 50.0, "most of the time of its requests")),
                Condition(
                    shares.OLDEST,
                    ">=",
                    Threshold("oldest", 100.0, "users notice a tenth of a second (Miller 1968)"),
                ),
            ),
            suspects=("connection-pool-exhausted",),
            causes=("connection-pool-exhausted",),
            caveats=caveats,
            source="/proc/PID/task/TID/syscall; tcp_info of ss: requests in send queues wait for the network, and "
            "connections that come and go are below any limit",
        )
        for name, measure, strength, title, caveats in (
            (
                "F-POOL-INSIDE",
                inner_queues.INSIDE_PER_CONNECTION,
                Strength.MECHANISM,
                Text("Requests wait inside for a connection of a pool", "请求在程序内等待连接池的连接"),
                Text(
                    "Requests that a program delays on purpose, by a timer or a limit of their rate, look the same.",
                    "程序有意延迟（定时器或限速）的请求看起来相同。",
                ),
            ),
            (
                "F-POOL-INSIDE-RUNTIME",
                inner_queues.INSIDE_RUNTIME,
                Strength.CORRELATIONAL,
                Text(
                    "Requests wait inside a runtime, in front of a fixed number of connections",
                    "请求停在运行时内部，而连接数固定不变",
                ),
                Text(
                    "Requests that wait for something else inside the runtime look the same.",
                    "在运行时内部等待其他事物的请求看起来相同。",
                ),
            ),
        )
    ),
    Rule(
        id="F-LOOP-SATURATED",
        title=Text("One thread serves all clients and fills a CPU", "服务所有客户端的单线程占满一个 CPU"),
        summary=Text(
            "Thread {thread} of {name} uses {value} % of a CPU, {share} % of its process, while requests wait.",
            "{name} 的线程 {thread} 占用单核 {value} %（占进程的 {share} %），同时有请求在等待。",
        ),
        measure=pools.LOOP_CPU,
        op=">=",
        thresholds=(("warn", Threshold("warn", 90.0, "as for any thread: too little is left to catch up")),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                pools.LOOP_SHARE,
                ">=",
                Threshold("share", 80.0, "other threads do next to nothing, so the work cannot be shared"),
            ),
            READS_CLIENTS,
            Condition(waits.HELD, ">=", Threshold("held", 3.0, "one is served, two are no queue")),
        ),
        suspects=("blocked-event-loop", "cpu-hot-function"),
        causes=("blocked-event-loop",),
        caveats=Text(
            "A background thread of a server that serves in other threads can look the same: see its stacks.",
            "由其他线程提供服务的进程，其后台线程也可能如此：请查看其调用栈。",
        ),
        source="/proc/PID/task/TID/schedstat; tcp_info of ss",
    ),
    Rule(
        id="F-REDIS-PRESENT",
        title=Text("Redis runs on the host", "主机上运行着 Redis"),
        summary=Text("Redis runs here ({name}).", "此处运行着 Redis（{name}）。"),
        measure=pools.REDIS_PRESENT,
        op=">=",
        thresholds=(("info", Threshold("info", 1.0, "a server that can be asked")),),
        strength=Strength.CONTEXT,
        use=Use("application", "utilization"),
        suspects=("blocked-event-loop", "persistence-stall", "cache-memory-limit"),
        caveats=Text("This does not show the health of the server.", "不说明该服务是否健康。"),
        source="names of processes",
    ),
)
