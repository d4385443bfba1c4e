"""Rules about where the time of a service goes: what its requests wait for.

A share s of the time means that requests take 1 / (1 - s) times as long as without it. A third makes them half as long
again, two thirds make them three times as long.
"""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.domain.rules.finding import Severity, Strength
from culprit.domain.rules.measures.service_time import neighbors, peer_calls, shares
from culprit.domain.rules.rule import AnyCondition, Condition, Measure, Rule, Threshold
from culprit.domain.rules.use_method import Resource, Use

_SOURCE = "thread_time: samples of system calls, schedstat; tcp_info. Speed-up without a part: Amdahl 1967"
_LARGE: tuple[tuple[Severity, Threshold], ...] = (
    ("warn", Threshold("warn", 33.3, "percent: requests take 1.5 times as long")),
    ("critical", Threshold("critical", 66.7, "percent: requests take three times as long")),
)
_OLDEST = Threshold("oldest", 100.0, "milliseconds: users notice a tenth of a second (Miller 1968)")
#: Where a service has no CPU, requests pass quickly once a thread takes them; they wait before.
_QUEUED = "at any time one request waits for a thread"
_SINGLE_REQUEST = Threshold("waiting", 1.0, "at any time one request waits")
_TWO_REQUESTS = Condition(
    shares.WAITING,
    ">=",
    Threshold("two", 2.0, "one holds what the other waits for: a single request contends with none"),
)
#: Requests wait, or the diagnosis is about this service.
_SLOW: tuple[Condition | AnyCondition, ...] = (
    AnyCondition(
        (
            Condition(shares.OLDEST, ">=", _OLDEST),
            Condition(shares.QUEUED, ">=", Threshold("queued", 1.0, _QUEUED)),
            Condition(shares.IS_NAMED, "==", Threshold("asked", 1.0, "the diagnosis names it")),
        )
    ),
    AnyCondition(
        (
            Condition(shares.WAITING, ">=", _SINGLE_REQUEST),
            Condition(shares.QUEUED, ">=", Threshold("in_queue", 1.0, _QUEUED)),
            Condition(shares.IS_NAMED, "==", Threshold("named", 1.0, "the diagnosis names it")),
        )
    ),
)

#: Requests that queue in front of busy workers wait for a worker. The peer is slow where it takes long for one call.
_LATE_PEER = AnyCondition(
    (
        Condition(
            peer_calls.PART_OF_REQUEST,
            ">=",
            Threshold("part", 10.0, "percent: a tenth of a delay is what people notice (Getty 1975)"),
        ),
        Condition(
            peer_calls.LONGEST,
            ">=",
            Threshold("call", 1000.0, "milliseconds: users lose their flow of thought (Miller 1968)"),
        ),
    )
)


def _build_rule(
    name: str,
    measure: Measure,
    title: Text,
    summary: Text,
    *,
    strength: Strength = Strength.CONTEXT,
    resource: Resource = "application",
    causes: Sequence[str] = (),
    suspects: Sequence[str] = (),
    also: Sequence[Condition | AnyCondition] = (),
    refuted_by: Sequence[str] = (),
    default_cause: str = "",
    caveats: Text | None = None,
) -> Rule:
    return Rule(
        id=f"F-TIME-{name}",
        title=title,
        summary=summary,
        measure=measure,
        op=">=",
        thresholds=_LARGE,
        strength=strength,
        use=Use(resource, "saturation"),
        also=(*_SLOW, *also),
        causes=tuple(causes),
        suspects=tuple(suspects),
        refuted_by=tuple(refuted_by),
        default_cause=default_cause,
        caveats=caveats,
        source=_SOURCE,
    )


RULES: tuple[Rule, ...] = (
    _build_rule(
        "PEER",
        shares.REMOTE_PEER,
        Text("Requests wait for a remote peer", "请求在等待远端"),
        Text(
            "{name} spends {value} % of its time waiting for {target}, up to {longest} ms at once.",
            "{name} 有 {value} % 的时间在等待 {target}，单次最长 {longest} ms。",
        ),
        strength=Strength.MECHANISM,
        causes=("slow-dependency",),
        also=(_LATE_PEER,),
        refuted_by=("F-NET-PEER-SILENT", "F-NET-LOSS-ON-PATH", "F-NET-FULL-SEGMENTS-LOST"),
        caveats=Text(
            "A short call in front of which requests queue is no slow peer: there are too few workers.",
            "若单次调用很短而请求在其前排队，则远端并不慢，而是工作进程太少。",
        ),
    ),
    _build_rule(
        "LOCAL-PEER",
        shares.LOCAL_PEER,
        Text("Requests wait for a service of this host", "请求在等待本机的服务"),
        Text(
            "{name} spends {value} % of its time waiting for {target} on this host, up to {longest} ms at once.",
            "{name} 有 {value} % 的时间在等待本机的 {target}，单次最长 {longest} ms。",
        ),
        strength=Strength.CORRELATIONAL,
        causes=("slow-dependency",),
        caveats=Text(
            "The cause is in that service. Its own time account continues this one.",
            "原因在那个服务里：它自己的时间账目接续本账目。",
        ),
    ),
    _build_rule(
        "DNS",
        shares.DNS_TIME,
        Text("Requests wait for a name server", "请求在等待域名服务器"),
        Text(
            "{name} spends {value} % of its time waiting for the name server {target}, up to {longest} ms at once.",
            "{name} 有 {value} % 的时间在等待域名服务器 {target}，单次最长 {longest} ms。",
        ),
        strength=Strength.MECHANISM,
        resource="network",
        causes=("slow-name-resolution",),
        suspects=("slow-name-resolution", "failing-name-resolution"),
        refuted_by=("F-DNS-LOOKUPS-QUEUE",),
        caveats=Text(
            "A name server that never answers costs the same time; a query of Culprit distinguishes them.",
            "不应答的域名服务器耗时相同；由 Culprit 的查询来区分。",
        ),
    ),
    _build_rule(
        "LOCK",
        shares.LOCK,
        Text("Threads wait for a lock", "线程在等待锁"),
        Text(
            "Threads of {name} spend {value} % of their time waiting for a lock, most at {target}.",
            "{name} 的线程有 {value} % 的时间在等待锁，最多的在 {target}。",
        ),
        strength=Strength.MECHANISM,
        causes=("lock-contention",),
        suspects=("lock-contention",),
        caveats=Text(
            "Who holds the lock may itself wait, for a disk or a peer: then that is the cause.",
            "持有锁的线程可能自己在等待磁盘或对端：那才是原因。",
        ),
    ),
    _build_rule(
        "FILE-LOCK",
        shares.FILE_LOCK,
        Text("Requests wait for the lock of a file", "请求在等待文件锁"),
        Text(
            "{name} spends {value} % of its time waiting for the lock of {target}, up to {longest} ms at once.",
            "{name} 有 {value} % 的时间在等待 {target} 的锁，单次最长 {longest} ms。",
        ),
        strength=Strength.MECHANISM,
        causes=("file-lock-held",),
        suspects=("file-lock-held",),
        caveats=Text(
            "Threads that wait for their turn count as far as the thread in turn waits for the file.",
            "排队等待的线程按轮到者等待该文件的比例计入。",
        ),
    ),
    *(
        _build_rule(
            name,
            measure,
            title,
            Text(
                f"Threads of {{name}} spend {{value}} % of their time in {en} while requests are in progress.",
                f"有请求在处理时，{{name}} 的线程有 {{value}} % 的时间{zh}。",
            ),
            suspects=("lock-contention",),
            also=(_TWO_REQUESTS,),
            refuted_by=("F-SERVICE-INSIDE-AS-BEFORE",),
            default_cause="lock-contention",
            caveats=Text(
                "Locks, connection pools and idle pools look the same here.",
                "锁、连接池与空闲线程池在此无法区分。",
            ),
        )
        for name, measure, title, en, zh in (
            (
                "CONDITION",
                shares.CONDITION,
                Text("Requests wait for other threads", "请求在等待其他线程"),
                "condition variables",
                "停在条件变量上",
            ),
            (
                "PARK",
                shares.PARK,
                Text("Requests wait in parked threads", "请求停在挂起的线程里"),
                "parked threads",
                "处于挂起状态",
            ),
            (
                "SEMAPHORE",
                shares.SEMAPHORE,
                Text("Requests wait for a semaphore", "请求在等待信号量"),
                "semaphores",
                "停在信号量上",
            ),
        )
    ),
    _build_rule(
        "UNSEEN",
        shares.UNSEEN,
        Text("No sample explains where requests wait", "样本无法解释请求在哪里等待"),
        Text(
            "{value} % of the time of requests to {name} is in no thread that was sampled.",
            "发往 {name} 的请求有 {value} % 的时间不在任何被采样的线程里。",
        ),
        suspects=("lock-contention",),
    ),
    _build_rule(
        "DISK",
        shares.DISK,
        Text("Requests wait for a disk", "请求在等待磁盘"),
        Text(
            "{name} spends {value} % of its time waiting for a disk ({operation}, most at {target}).",
            "{name} 有 {value} % 的时间在等待磁盘（{operation}，最多的在 {target}）。",
        ),
        resource="disk",
        suspects=("sync-write-amplification", "disk-saturation", "major-fault-thrashing"),
        default_cause="disk-saturation",
    ),
    _build_rule(
        "FAULT",
        shares.FAULT,
        Text("Requests wait for pages", "请求在等待内存页"),
        Text(
            "{name} spends {value} % of its time waiting for pages from a disk.",
            "{name} 有 {value} % 的时间在等待从磁盘读入内存页。",
        ),
        resource="memory",
        suspects=("major-fault-thrashing", "swap-thrashing"),
        default_cause="major-fault-thrashing",
    ),
    _build_rule(
        "FILESYSTEM",
        shares.FILESYSTEM,
        Text("Requests wait for a remote file system", "请求在等待远程文件系统"),
        Text(
            "{name} spends {value} % of its time in {operation} at {target}, up to {longest} ms at once.",
            "{name} 有 {value} % 的时间在 {target} 的 {operation} 中，单次最长 {longest} ms。",
        ),
        strength=Strength.CORRELATIONAL,
        resource="disk",
        causes=("dstate-pileup",),
        suspects=("dstate-pileup",),
    ),
    _build_rule(
        "PERMISSION",
        shares.PERMISSION,
        Text("Requests wait for a scanner of files", "请求在等待文件扫描程序"),
        Text(
            "{name} spends {value} % of its time waiting until a program permits the access to a file ({operation}).",
            "{name} 有 {value} % 的时间在等待某程序许可其访问文件（{operation}）。",
        ),
        strength=Strength.MECHANISM,
        resource="kernel",
        causes=("fanotify-permission-wait",),
        suspects=("fanotify-permission-wait",),
    ),
    _build_rule(
        "THROTTLED",
        shares.THROTTLED,
        Text("Requests wait because of the CPU quota", "请求因 CPU 配额而等待"),
        Text(
            "{name} spends {value} % of its time held back by the CPU quota of its control group.",
            "{name} 有 {value} % 的时间被其控制组的 CPU 配额限制。",
        ),
        strength=Strength.MECHANISM,
        resource="cpu",
        causes=("cpu-quota-throttling",),
        suspects=("cpu-quota-throttling",),
    ),
    _build_rule(
        "NEIGHBOR",
        shares.RUNNABLE_TIME,
        Text("Requests wait for a CPU that others use", "请求在等待被其他进程占用的 CPU"),
        Text(
            "{name} spends {value} % of its time waiting for a CPU while other processes use most of the CPU time.",
            "{name} 有 {value} % 的时间在等待 CPU，而大部分 CPU 时间被其他进程占用。",
        ),
        strength=Strength.MECHANISM,
        resource="cpu",
        causes=("cpu-neighbour-contention",),
        suspects=("cpu-neighbour-contention",),
        also=(
            Condition(
                neighbors.OTHERS,
                ">=",
                Threshold("others", 50.0, "percent of the used CPU time: the larger part"),
            ),
            Condition(
                neighbors.NEIGHBOR,
                ">=",
                Threshold("neighbor", 50.0, "percent: more than all other programs together"),
            ),
        ),
    ),
    _build_rule(
        "RUNNABLE",
        shares.RUNNABLE_TIME,
        Text("Requests wait for a CPU", "请求在等待 CPU"),
        Text(
            "{name} spends {value} % of its time waiting for a CPU.", "{name} 有 {value} % 的时间在等待 CPU。"
        ),
        resource="cpu",
        suspects=("cpu-exhausted", "cpu-quota-throttling", "thread-oversubscription", "kernel-thread-busy"),
        default_cause="cpu-exhausted",
    ),
    _build_rule(
        "RUNNING",
        shares.RUNNING,
        Text("Requests are computed", "请求在计算中"),
        Text("{name} spends {value} % of its time on a CPU.", "{name} 有 {value} % 的时间在 CPU 上运行。"),
        resource="cpu",
        suspects=("cpu-hot-function", "database-hot-sql"),
        default_cause="cpu-hot-function",
    ),
    _build_rule(
        "PIPE",
        shares.PIPE,
        Text("Requests wait for a pipe", "请求在等待管道"),
        Text(
            "{name} spends {value} % of its time waiting for a pipe ({operation}).",
            "{name} 有 {value} % 的时间在等待管道（{operation}）。",
        ),
        caveats=Text(
            "A writer waits where the reader, often a log shipper, is slow.",
            "写端等待说明读端（常为日志采集）较慢。",
        ),
    ),
    _build_rule(
        "CHILD",
        shares.CHILD,
        Text("Requests wait for a child process", "请求在等待子进程"),
        Text(
            "{name} spends {value} % of its time waiting for a child process.",
            "{name} 有 {value} % 的时间在等待子进程。",
        ),
    ),
    _build_rule(
        "SLEEP",
        shares.SLEEP,
        Text("Requests sleep", "请求在休眠"),
        Text(
            "{name} spends {value} % of its time asleep while requests are in progress.",
            "有请求在处理时，{name} 有 {value} % 的时间在休眠。",
        ),
        caveats=Text("Retries with pauses look like this.", "带间隔的重试即为此种表现。"),
    ),
    _build_rule(
        "CLIENT",
        shares.CLIENT,
        Text("Requests wait for clients that do not read", "请求在等待不读取的客户端"),
        Text(
            "{name} spends {value} % of its time sending to clients that do not read.",
            "{name} 有 {value} % 的时间在向不读取的客户端发送。",
        ),
        strength=Strength.MECHANISM,
        resource="network",
        causes=("slow-receiver",),
        suspects=("slow-receiver",),
    ),
    _build_rule(
        "STOPPED",
        shares.STOPPED,
        Text("Requests wait in stopped threads", "请求停在被暂停的线程里"),
        Text(
            "Threads of {name} are stopped for {value} % of its time, by a signal or a tracer.",
            "{name} 的线程有 {value} % 的时间因信号或跟踪器而被暂停。",
        ),
        resource="kernel",
    ),
)
