"""Rules about requests that wait for a peer or a lock, and about descriptor leaks."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import calls, growth, open_connections, waits
from culprit.domain.rules.rule import AnyCondition, Condition, Guard, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-REQUESTS-WAIT",
        title=Text("Requests wait", "请求在等待"),
        summary=Text(
            "Requests to {name} wait up to {value} ms. On average {waiting} wait at the same time.",
            "发往 {name} 的请求最长等待 {value} ms；平均同时有 {waiting} 个在等待。",
        ),
        measure=waits.OLDEST_REQUEST,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 100.0, "users notice a tenth of a second")),
            ("critical", Threshold("critical", 1000.0, "after one second users lose their flow of thought")),
        ),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        also=(Condition(waits.HELD, ">=", Threshold("held", 1.0, "at any time one request waits")),),
        refuted_by=("F-SERVICE-AS-BEFORE",),
        harm=True,
        caveats=Text(
            "Long polls and reports wait by design. A cause needs evidence of its own.",
            "长轮询与报表本就等待；原因另需自己的证据。",
        ),
        source="tcp_info of ss: last data sent and received. Limits of attention: R. B. Miller, 1968",
    ),
    Rule(
        id="F-DEP-SLOW-REPLY",
        title=Text("A peer answers late", "对端迟迟不应答"),
        summary=Text(
            "{name} waited up to {value} ms for {peer}, which has received the complete request "
            "but not answered. On average {waiting} such requests wait at the same time.",
            "{name} 等待 {peer} 长达 {value} ms：对端已收到完整请求却没有应答；平均同时有 {waiting} 个这样的请求。",
        ),
        measure=waits.REPLY_WAIT,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold("warn", 100.0, "users notice a tenth of a second; a local round trip takes 1 ms"),
            ),
            ("critical", Threshold("critical", 1000.0, "near the typical timeouts of clients")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("slow-dependency",),
        also=(
            Condition(waits.UNANSWERED, ">=", Threshold("unanswered", 1.0, "one long poll is no queue")),
            Condition(
                waits.BEHIND_PEER,
                ">=",
                Threshold("behind", 40.0, "otherwise requests wait for something else"),
            ),
        ),
        guards=(
            Guard(
                Condition(
                    waits.HELD, ">=", Threshold("held", 1.0, "at least one client waits for this host")
                ),
                Sentence("guard.no_load"),
            ),
        ),
        causes=("slow-dependency",),
        refutes=("slow-dependency",),
        refuted_by=("F-DEP-AS-BEFORE",),
        harm=True,
        caveats=Text(
            "Long polls (SUBSCRIBE, BLPOP, watch) wait by design. In that case no request waits for them.",
            "长轮询（SUBSCRIBE、BLPOP、watch）本就在等待，但不会有请求随之等待。",
        ),
        source="tcp_info of ss: last data sent and received; share of requests instead of trace spans",
    ),
    Rule(
        id="F-DEP-AS-BEFORE",
        title=Text("A peer is not shown to answer later than before", "未见对端应答比以前更慢"),
        summary=Text(
            "Answers of {peer} to {name} take {value} times as long as in the baseline at least: on average {waiting} "
            "are waited for at the same time, {before} were before. So that they take long is no harm.",
            "{peer} 应答 {name} 的耗时至少是基线的 {value} 倍：平均同时等待 {waiting} 个应答，此前为 {before} 个；"
            "因此应答慢不算损害。",
        ),
        measure=growth.PEER_GROWTH,
        op="<=",
        thresholds=(("info", Threshold("info", 1.0, "as F-SERVICE-AS-BEFORE: nothing may have changed")),),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        caveats=Text(
            "A baseline that was recorded during the incident hides it: choose one from a good time.",
            "若基线本身取自故障期间，会掩盖故障：请选择正常时段的基线。",
        ),
        source="Little's law, as F-SERVICE-AS-BEFORE",
    ),
    Rule(
        id="F-DEP-SLOW-CALL",
        title=Text("A thread waits for a reply", "线程等待应答"),
        summary=Text("One {call} waited {value} ms for a reply.", "一次 {call} 等待应答 {value} ms。"),
        measure=calls.CALL_WAIT,
        op=">=",
        thresholds=(("warn", Threshold("warn", 100.0, "a local round trip takes 1 ms")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        causes=("slow-dependency",),
        caveats=Text(
            "A server that waits for its next client looks the same. Check the peer of the descriptor.",
            "等待下一个客户端的服务端表现相同：请查看描述符的对端。",
        ),
        source="strace -T: between request and reply of one thread",
    ),
    Rule(
        id="F-REQUESTS-UNREAD",
        title=Text("A server reads no requests", "服务不读取请求"),
        summary=Text(
            "On average {value} connections to {name} have a request that it has not read.",
            "平均有 {value} 个到 {name} 的连接上有它尚未读取的请求。",
        ),
        measure=open_connections.UNREAD,
        op=">=",
        thresholds=(("info", Threshold("info", 1.0, "at any time a request is not read")),),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        caveats=Text(
            "A server that is out of workers, stopped or holds back on purpose looks the same.",
            "工作进程用尽、被暂停或有意限流的服务表现相同。",
        ),
        source="Recv-Q of its connections. A server that reads no request does not read that its client has gone",
    ),
    Rule(
        id="F-TCP-CLOSE-WAIT",
        title=Text("Connections are never closed", "连接从不关闭"),
        summary=Text(
            "{name} keeps {value} connections open that the peer has closed.",
            "{name} 仍保留 {value} 个对端已关闭的连接。",
        ),
        measure=open_connections.CLOSE_WAIT,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "a program that closes leaves none for seconds")),),
        strength=Strength.DIRECT,
        use=Use("application", "errors"),
        suspects=("fd-leak-close-wait",),
        also=(
            AnyCondition(
                (
                    Condition(
                        open_connections.CLOSE_WAIT_OF_FDS,
                        ">=",
                        Threshold("share", 50.0, "most of its open files"),
                    ),
                    Condition(
                        open_connections.CLOSE_WAIT_OF_PEER,
                        ">=",
                        Threshold("of_peer", 50.0, "most of its connections to the peer"),
                    ),
                )
            ),
            Condition(
                open_connections.CLOSE_WAIT_KEPT,
                ">",
                Threshold("kept", 50.0, "most of those at the start stay"),
            ),
        ),
        causes=("fd-leak-close-wait",),
        refutes=("fd-leak-close-wait",),
        refuted_by=("F-REQUESTS-UNREAD",),
        caveats=Text(
            "Half-closed protocols keep such sockets for a while.",
            "半关闭协议会短暂保留此类套接字。",
        ),
        source="CLOSE_WAIT ends only when this program calls close(); several readings instead of "
        "three snapshots",
    ),
    Rule(
        id="F-FD-LEAK",
        title=Text("Number of open files near the limit", "打开文件接近限额"),
        summary=Text(
            "{name} has {open} files open, {value} % of its limit.",
            "{name} 打开 {open} 个文件，占限额 {value} %。",
        ),
        measure=waits.FD_USE,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 70.0, "calls fail at 100")),
            ("critical", Threshold("critical", 90.0, "calls fail at 100")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "utilization"),
        suspects=("fd-leak-close-wait",),
        also=(
            AnyCondition(
                (
                    Condition(
                        open_connections.CLOSE_WAIT_OF_FDS,
                        ">=",
                        Threshold("close_wait", 30.0, "sockets that are not closed"),
                    ),
                    Condition(
                        waits.FD_GROWTH, ">=", Threshold("growth", 10.0, "in one window: full within minutes")
                    ),
                )
            ),
        ),
        causes=("fd-leak-close-wait",),
        caveats=Text("Pools grow by design while they warm up.", "连接池预热时会有意增长。"),
        source="/proc/PID/fd against the soft limit",
    ),
    Rule(
        id="F-LIMIT-REACHED",
        title=Text("No more processes and threads are allowed", "不能再创建进程与线程"),
        summary=Text("{limit} is at {value} % of its limit.", "{limit} 已用限额的 {value} %。"),
        measure=waits.TASK_LIMIT_USE,
        op=">=",
        thresholds=(("critical", Threshold("critical", 100.0, "at the limit the next call fails")),),
        strength=Strength.DIRECT,
        use=Use("kernel", "errors"),
        causes=("process-limit",),
        refutes=("process-limit",),
        harm=True,
        source="pids.max, threads-max, pid_max: fork() and clone() fail with EAGAIN at the limit",
    ),
    Rule(
        id="F-LIMIT-REFUSED",
        title=Text("A limit refuses new processes and threads", "限额拒绝创建进程与线程"),
        summary=Text(
            "The limit of {name} refused {value} forks during the capture.",
            "采集期间，{name} 的限额拒绝了 {value} 次 fork。",
        ),
        measure=waits.REFUSED_TASKS,
        op=">=",
        thresholds=(("critical", Threshold("critical", 1.0, "each is a call that failed with EAGAIN")),),
        strength=Strength.DIRECT,
        use=Use("kernel", "errors"),
        causes=("process-limit",),
        harm=True,
        source="pids.events: the kernel's own count of forks that pids.max refused",
    ),
    Rule(
        id="F-LIMIT-NEAR",
        title=Text("Limit of processes and threads nearly reached", "进程与线程数接近限额"),
        summary=Text("{limit} is at {value} % of its limit.", "{limit} 已用限额的 {value} %。"),
        measure=waits.TASK_LIMIT_USE,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 80.0, "time to act before calls fail")),
            ("critical", Threshold("critical", 95.0, "calls fail at 100")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("kernel", "utilization"),
        causes=("process-limit",),
        source="threads-max, pid_max, pids.max",
    ),
    Rule(
        id="F-FILES-REACHED",
        title=Text("No more files can be opened", "不能再打开文件"),
        summary=Text(
            "{limit} of {name}: {value} % of the limit.", "{name} 的 {limit}：已用限额的 {value} %。"
        ),
        measure=waits.FILE_LIMIT_USE,
        op=">=",
        thresholds=(("critical", Threshold("critical", 100.0, "at the limit the next call fails")),),
        strength=Strength.DIRECT,
        use=Use("kernel", "errors"),
        causes=("file-descriptor-limit",),
        refutes=("file-descriptor-limit",),
        refuted_by=("F-LISTENER-CLOSED",),
        harm=True,
        source="RLIMIT_NOFILE, file-max: open(), socket() and accept() fail with EMFILE or ENFILE at the limit",
    ),
    Rule(
        id="F-FILES-NEAR",
        title=Text("Limit of open files nearly reached", "打开文件数接近限额"),
        summary=Text(
            "{limit} of {name}: {value} % of the limit.", "{name} 的 {limit}：已用限额的 {value} %。"
        ),
        measure=waits.FILE_LIMIT_USE,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 80.0, "time to act before calls fail")),
            ("critical", Threshold("critical", 95.0, "calls fail at 100")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("kernel", "utilization"),
        causes=("file-descriptor-limit",),
        refuted_by=("F-LISTENER-CLOSED",),
        caveats=Text(
            "A server may set this limit itself, from its limit of connections.",
            "服务可能自行按其连接数上限设置该限额。",
        ),
        source="RLIMIT_NOFILE, file-nr",
    ),
    Rule(
        id="F-SEC-ROOT-SERVICE",
        title=Text("A service runs as root", "服务以 root 运行"),
        summary=Text("{name} serves port {port} as root.", "{name} 以 root 身份监听端口 {port}。"),
        measure=waits.ROOT_SERVICE,
        op="==",
        thresholds=(("info", Threshold("info", 1.0, "effective uid 0")),),
        strength=Strength.CONTEXT,
        use=None,
        caveats=Text(
            "In a container with user namespaces, the service is root only inside the container.",
            "在使用用户命名空间的容器中，仅在容器内为 root。",
        ),
        source="owner of the listening process; remote login services are excluded",
    ),
)
