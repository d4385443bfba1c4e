"""Rules about requests that wait: for a peer, for a lock, for descriptors that are never given back."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import AnyOf, Condition, Grade, Guard, Limit, Rule
from culprit.core.rules.measures import app_calls as calls
from culprit.core.rules.measures import app_waits as waits

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-DEP-SLOW-REPLY",
        title=Text("A peer owes answers", "对端迟迟不应答"),
        says=Text(
            "{name} waited up to {value} ms for {peer}, which has all of the question and has said nothing since;"
            " {waiting} such questions at once on average.",
            "{name} 等待 {peer} 长达 {value} ms：对端已收到完整请求却没有应答；平均同时有 {waiting} 个这样的请求。",
        ),
        measure=waits.REPLY_WAIT,
        op=">=",
        levels=(
            (
                "warn",
                Limit("warn", 100.0, "a tenth of a second is felt by people; a local round trip takes 1 ms"),
            ),
            ("critical", Limit("critical", 1000.0, "near the usual time limits of clients")),
        ),
        grade=Grade.MECHANISM,
        also=(
            Condition(waits.UNANSWERED, ">=", Limit("unanswered", 1.0, "one long poll is no pile-up")),
            Condition(
                waits.BEHIND_PEER, ">=", Limit("behind", 40.0, "else requests wait for something else")
            ),
        ),
        guards=(
            Guard(
                Condition(waits.HELD, ">=", Limit("held", 1.0, "somebody must be waiting for us")),
                Sentence("guard.no_load"),
            ),
        ),
        causes=("slow-dependency",),
        refutes=("slow-dependency",),
        traps=Text(
            "Long polls (SUBSCRIBE, BLPOP, watch) wait on purpose; then no request waits along with them.",
            "长轮询（SUBSCRIBE、BLPOP、watch）本就在等待，但不会有请求随之等待。",
        ),
        source="tcp_info of ss: last data sent and received; the share of requests instead of a trace's spans",
    ),
    Rule(
        id="F-DEP-SLOW-CALL",
        title=Text("A thread waits for a reply", "线程等待应答"),
        says=Text("One {call} waited {value} ms for a reply.", "一次 {call} 等待应答 {value} ms。"),
        measure=calls.CALL_WAIT,
        op=">=",
        levels=(("warn", Limit("warn", 100.0, "a local round trip takes 1 ms")),),
        grade=Grade.CORRELATIONAL,
        causes=("slow-dependency",),
        traps=Text(
            "A server that waits for its next client waits as well: look at the peer of the descriptor.",
            "等待下一个客户端的服务端同样在等待：请看描述符的对端。",
        ),
        source="strace -T: between the question and the reply of one thread",
    ),
    Rule(
        id="F-LOCK-FUTEX-PILEUP",
        title=Text("Request threads stand before a lock", "请求线程堵在锁前"),
        says=Text(
            "{stuck} of {threads} active threads of {name} ({value} %) wait in futex most of the time, while"
            " requests are in hand and the CPU is free.",
            "{name} 的 {threads} 个活跃线程中有 {stuck} 个（{value} %）大部分时间停在 futex；手头有请求，而 CPU 空闲。",
        ),
        measure=waits.PILEUP,
        op=">=",
        levels=(("warn", Limit("warn", 50.0, "more than half of the threads that serve")),),
        grade=Grade.MECHANISM,
        also=(
            Condition(waits.HELD, ">=", Limit("held", 3.0, "two requests are no pile-up")),
            Condition(
                waits.STUCK_PER_REQUEST, "<=", Limit("stuck", 2.0, "more are parked, for want of work")
            ),
            Condition(waits.ELSEWHERE, "<", Limit("elsewhere", 1.0, "else they wait for a peer")),
            Condition(
                waits.CPU_OF, "<", Limit("cpu", 80.0, "percent of one CPU: above, the holder computes")
            ),
        ),
        causes=("lock-contention",),
        traps=Text(
            "Pools park idle threads on futexes too, and the share of futex calls says nothing.",
            "线程池的空闲线程也停在 futex；futex 调用占比说明不了问题。",
        ),
        source="wchan, ten times a second; share, count and address of futex calls alike in healthy services",
    ),
    Rule(
        id="F-LOCK-FUTEX-LONG",
        title=Text("A long wait in futex", "futex 等待过长"),
        says=Text(
            "A thread waited {value} ms at {address} until thread {waker} woke it.",
            "线程在 {address} 等待 {value} ms，由线程 {waker} 唤醒。",
        ),
        measure=calls.FUTEX_WAIT,
        op=">",
        levels=(("warn", Limit("warn", 500.0, "longer than any critical section should be")),),
        grade=Grade.CORRELATIONAL,
        also=(Condition(calls.FUTEX_WAKES, ">=", Limit("wakes", 1.0, "time limits end without a waker")),),
        causes=("lock-contention",),
        traps=Text("Idle pool workers park on futex.", "空闲的线程池工作线程也停在 futex。"),
        source="strace -f -T: waits of one thread ended by the wake of another",
    ),
    Rule(
        id="F-TCP-CLOSE-WAIT",
        title=Text("Connections are never closed", "连接从不关闭"),
        says=Text(
            "{name} keeps {value} connections open that the other side has closed.",
            "{name} 仍保留 {value} 个对端已关闭的连接。",
        ),
        measure=waits.CLOSE_WAIT,
        op=">=",
        levels=(("warn", Limit("warn", 30.0, "one in hand for each thread is normal")),),
        grade=Grade.DIRECT,
        also=(
            AnyOf(
                (
                    Condition(
                        waits.CLOSE_WAIT_GROWTH, ">=", Limit("growth", 1.0, "a second, over the window")
                    ),
                    Condition(waits.CLOSE_WAIT, ">=", Limit("many", 100.0, "in one process")),
                )
            ),
            AnyOf(
                (
                    Condition(
                        waits.CLOSE_WAIT_OF_FDS, ">=", Limit("share", 50.0, "most of what it has open")
                    ),
                    Condition(waits.FD_USE, ">=", Limit("used", 70.0, "of its limit of open files")),
                )
            ),
            Condition(waits.CLOSE_WAIT_KEPT, ">=", Limit("kept", 5.0, "there at the beginning already")),
        ),
        causes=("fd-leak-close-wait",),
        refutes=("fd-leak-close-wait",),
        traps=Text(
            "Half-closed protocols keep such sockets for a while; the state needs both ends to behave.",
            "半关闭协议会短暂保留此类套接字。",
        ),
        source="CLOSE_WAIT ends only with close() of this program; several readings instead of three snapshots",
    ),
    Rule(
        id="F-FD-LEAK",
        title=Text("Open files near their limit", "打开文件接近限额"),
        says=Text(
            "{name} has {open} files open, {value} % of its limit.",
            "{name} 打开 {open} 个文件，占限额 {value} %。",
        ),
        measure=waits.FD_USE,
        op=">=",
        levels=(
            ("warn", Limit("warn", 70.0, "calls fail at 100")),
            ("critical", Limit("critical", 90.0, "calls fail at 100")),
        ),
        grade=Grade.CORRELATIONAL,
        also=(
            AnyOf(
                (
                    Condition(
                        waits.CLOSE_WAIT_OF_FDS, ">=", Limit("close_wait", 30.0, "sockets that nobody closes")
                    ),
                    Condition(
                        waits.FD_GROWTH, ">=", Limit("growth", 10.0, "in one window, with 20 at least")
                    ),
                )
            ),
        ),
        causes=("fd-leak-close-wait",),
        traps=Text("Pools grow while they warm up, on purpose.", "连接池预热时会有意增长。"),
        source="/proc/PID/fd against the soft limit",
    ),
    Rule(
        id="F-LIMIT-NEAR",
        title=Text("Near a limit", "接近系统限额"),
        says=Text("{limit} is at {value} % of its limit.", "{limit} 已用限额的 {value} %。"),
        measure=waits.LIMIT_USE,
        op=">=",
        levels=(
            ("warn", Limit("warn", 80.0, "time to act before calls fail")),
            ("critical", Limit("critical", 95.0, "calls fail at 100")),
        ),
        grade=Grade.CORRELATIONAL,
        source="file-nr, threads-max, pid_max, pids.max",
    ),
    Rule(
        id="F-SEC-ROOT-SERVICE",
        title=Text("A service runs as root", "服务以 root 运行"),
        says=Text("{name} serves port {port} as root.", "{name} 以 root 身份监听端口 {port}。"),
        measure=waits.ROOT_SERVICE,
        op="==",
        levels=(("info", Limit("info", 1.0, "effective uid 0")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "In a container with user namespaces it is root inside only.",
            "使用用户命名空间的容器中只是容器内的 root。",
        ),
        source="owner of the listening process; remote sessions excepted",
    ),
)
