"""Rules about where the requests of a service spend their time.

A share above one half means that this wait explains more than all others together.
"""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.domain.rules.finding import Severity, Strength
from culprit.domain.rules.measures.application import thread_time
from culprit.domain.rules.rule import AnyCondition, Condition, Measure, Rule, Threshold
from culprit.domain.rules.use_method import Resource, Use

_SOURCE = "samples of /proc/PID/task/TID/syscall, schedstat, and tcp_info of connections"
_HALF: tuple[tuple[Severity, Threshold], ...] = (
    ("warn", Threshold("warn", 50.0, "percent: more than all other waits together")),
    ("critical", Threshold("critical", 80.0, "percent: hardly anything else")),
)
#: A service is slow only where requests wait for it, long enough that users notice.
_SLOW = (
    Condition(
        thread_time.OLDEST, ">=", Threshold("oldest", 100.0, "milliseconds: users notice a tenth of a second")
    ),
    Condition(thread_time.WAITING, ">=", Threshold("waiting", 1.0, "one request waits at any time")),
)


def _build_rule(
    name: str,
    measure: Measure,
    title: Text,
    summary: Text,
    *,
    strength: Strength = Strength.MECHANISM,
    resource: Resource = "application",
    causes: Sequence[str] = (),
    suspects: Sequence[str] = (),
    refutes: Sequence[str] = (),
    also: Sequence[Condition | AnyCondition] = (),
    caveats: Text | None = None,
) -> Rule:
    return Rule(
        id=f"F-TIME-{name}",
        title=title,
        summary=summary,
        measure=measure,
        op=">=",
        thresholds=_HALF,
        strength=strength,
        use=Use(resource, "saturation"),
        also=(*_SLOW, *also),
        causes=tuple(causes),
        suspects=tuple(suspects),
        refutes=tuple(refutes),
        caveats=caveats,
        source=_SOURCE,
    )


RULES: tuple[Rule, ...] = (
    Rule(
        id="F-REQUESTS-WAIT",
        title=Text("Requests wait", "请求在等待"),
        summary=Text(
            "Requests to {name} wait up to {value} ms. On average {waiting} are unanswered "
            "and {queued} are not yet taken.",
            "发往 {name} 的请求最长等待 {value} ms；平均有 {waiting} 个未应答，{queued} 个尚未被取走。",
        ),
        measure=thread_time.OLDEST,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 100.0, "users notice a tenth of a second")),
            ("critical", Threshold("critical", 1000.0, "users lose their flow of thought after one second")),
        ),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        also=(_SLOW[1],),
        harm=True,
        source="tcp_info: last data sent and received; unread bytes; accept queues. Limits of attention: Miller 1968",
    ),
    _build_rule(
        "PEER",
        thread_time.PEER,
        Text("Requests wait for a remote peer", "请求在等待远端"),
        Text(
            "{name} spends {value} % of its time waiting for {target}.",
            "{name} 有 {value} % 的时间在等待 {target}。",
        ),
        causes=("slow-dependency",),
        refutes=("slow-dependency",),
    ),
    _build_rule(
        "LOCAL-PEER",
        thread_time.ANY_PEER,
        Text("Requests wait for a peer", "请求在等待对端"),
        Text(
            "{name} spends {value} % of its time waiting for {target}.",
            "{name} 有 {value} % 的时间在等待 {target}。",
        ),
        strength=Strength.CORRELATIONAL,
        causes=("slow-dependency",),
        caveats=Text(
            "If the peer is on this host, the cause is in that process.",
            "如果对端在本机，原因就在那个进程中。",
        ),
    ),
    _build_rule(
        "LOCK",
        thread_time.LOCK,
        Text("Threads wait for one mutex", "线程在等待互斥锁"),
        Text(
            "Threads of {name} spend {value} % of their time waiting for a mutex.",
            "{name} 的线程有 {value} % 的时间在等待互斥锁。",
        ),
        causes=("lock-contention",),
        suspects=("lock-contention",),
    ),
    _build_rule(
        "FILE-LOCK",
        thread_time.FILE_LOCK,
        Text("Processes wait for a file lock", "进程在等待文件锁"),
        Text(
            "{name} spends {value} % of its time waiting for the lock of a file.",
            "{name} 有 {value} % 的时间在等待文件锁。",
        ),
        causes=("lock-contention",),
    ),
    _build_rule(
        "PARK",
        thread_time.PARK,
        Text("Threads wait for other threads", "线程在等待其他线程"),
        Text(
            "Threads of {name} spend {value} % of their time parked while requests are queued.",
            "有请求排队时，{name} 的线程仍有 {value} % 的时间处于挂起状态。",
        ),
        strength=Strength.CONTEXT,
        suspects=("lock-contention",),
        caveats=Text(
            "A condition variable of a lock, of a connection pool and of an idle pool look the same.",
            "锁、连接池与空闲线程池的条件变量无法区分。",
        ),
    ),
    _build_rule(
        "DISK",
        thread_time.DISK,
        Text("Requests wait for a disk", "请求在等待磁盘"),
        Text(
            "{name} spends {value} % of its time waiting for a disk.",
            "{name} 有 {value} % 的时间在等待磁盘。",
        ),
        strength=Strength.CONTEXT,
        resource="disk",
        suspects=("sync-write-amplification",),
    ),
    _build_rule(
        "FAULT",
        thread_time.FAULT,
        Text("Requests wait for pages", "请求在等待内存页"),
        Text(
            "{name} spends {value} % of its time in page faults.",
            "{name} 有 {value} % 的时间在处理缺页。",
        ),
        strength=Strength.CONTEXT,
        resource="memory",
        suspects=("major-fault-thrashing",),
    ),
    _build_rule(
        "NEIGHBOR",
        thread_time.RUNNABLE,
        Text("Requests wait for a CPU that others use", "请求在等待被其他进程占用的 CPU"),
        Text(
            "{name} spends {value} % of its time waiting for a CPU, while other processes use most of the CPU time.",
            "{name} 有 {value} % 的时间在等待 CPU，而大部分 CPU 时间被其他进程占用。",
        ),
        resource="cpu",
        causes=("cpu-neighbour-contention",),
        suspects=("cpu-neighbour-contention",),
        also=(
            Condition(
                thread_time.OTHERS,
                ">=",
                Threshold("others", 50.0, "percent of all used CPU time: the larger part"),
            ),
        ),
    ),
    _build_rule(
        "RUNNABLE",
        thread_time.RUNNABLE,
        Text("Requests wait for a CPU", "请求在等待 CPU"),
        Text(
            "{name} spends {value} % of its time waiting for a CPU.",
            "{name} 有 {value} % 的时间在等待 CPU。",
        ),
        strength=Strength.CONTEXT,
        resource="cpu",
        suspects=("cpu-exhausted", "cpu-quota-throttling", "thread-oversubscription"),
    ),
    _build_rule(
        "RUNNING",
        thread_time.RUNNING,
        Text("Requests are computed", "请求在计算中"),
        Text(
            "{name} spends {value} % of its time on a CPU.",
            "{name} 有 {value} % 的时间在 CPU 上运行。",
        ),
        strength=Strength.CONTEXT,
        resource="cpu",
        suspects=("cpu-hot-function", "database-hot-sql"),
    ),
)
