"""Measures over time accounts: how long requests wait, where the time goes, and whether a service has free threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from weakref import WeakKeyDictionary

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Reading
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.measures.service_time.accounts import (
    ServiceTimes,
    TimeAccount,
    read_service_times,
)
from culprit.domain.rules.measures.service_time.activities import PEER, RUNNABLE
from culprit.domain.rules.measures.service_time.amounts import Amount, Share
from culprit.domain.rules.measures.service_time.thread_amounts import is_path
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView

NEEDS = (("proc_threads",),)
Detail = dict[str, str | int | float]
#: Fewer threads than this are one thread: the rest is background work of the program.
SINGLE_THREAD = 1.5
#: What requests take from each other: with more workers, more of them wait.
_CONTENDED = frozenset(("lock", "semaphore", "disk", "fault", RUNNABLE, "throttled"))
#: CPUs are short where a tenth of the work waits for one: then more workers only wait for each other.
_CPU_SHORT = 0.1
_times: WeakKeyDictionary[HostView, ServiceTimes] = WeakKeyDictionary()
Build = Callable[[HostView, ServiceTimes, TimeAccount], Iterator[Measurement]]


def get_service_times(view: HostView) -> ServiceTimes:
    """Return the time accounts of a view, computed once."""
    if view not in _times:
        _times[view] = read_service_times(view)
    return _times[view]


def read_accounts(build: Build) -> Callable[[HostView], Reading]:
    """Return how a measure is read from every account."""

    def read(view: HostView) -> Reading:
        if not view.rows("process_time"):
            return MissingData(Sentence("missing.no_thread_time"))
        times = get_service_times(view)
        return [item for account in times.accounts for item in build(view, times, account)]

    return read


def _oldest(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    del view, times
    detail: Detail = {
        "name": account.service.name,
        "waiting": round(account.waiting, 1),
        "queued": round(account.queued, 1),
    }
    if account.citations:
        yield Measurement(
            account.oldest_ms, account.service.subject, _cite_requests(account), account.samples, (), detail
        )


def _waiting(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    del view, times
    if account.citations:
        value = account.waiting + account.queued
        yield Measurement(value, account.service.subject, _cite_requests(account), account.samples)


def _queued_part(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    del view, times
    every = account.waiting + account.queued
    if account.citations and every > 0:
        value = 100.0 * account.queued / every
        yield Measurement(value, account.service.subject, account.citations, account.samples)


def _queued(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    del view, times
    if account.citations:
        detail: Detail = {
            "name": account.service.name,
            "busy": round(account.busy_threads, 1),
            "free": round(account.free_threads, 1),
        }
        yield Measurement(
            account.queued, account.service.subject, _cite_requests(account), account.samples, (), detail
        )


def _is_named(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    del view, times
    cites = cite_time(account)
    yield Measurement(float(account.is_target), account.service.subject, cites, account.samples)


def _threads(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Threads that serve: the busy ones, and idle ones that can take a request."""
    del view, times
    cites = cite_time(account, *account.idle.values())
    value = account.busy_threads + account.free_threads
    yield Measurement(value, account.service.subject, cites, account.samples)


def _busy_part(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Percent of the serving threads that are busy."""
    del view, times
    every = account.busy_threads + account.free_threads
    if every > 0:
        detail: Detail = {
            "name": account.service.name,
            "waiting": round(account.waiting + account.queued, 1),
            "threads": round(every, 1),
            "activity": max(account.amounts, key=lambda key: account.amounts[key].number, default=("-", ""))[
                0
            ],
        }
        cites = cite_time(account, *account.idle.values())
        value = 100.0 * account.busy_threads / every
        yield Measurement(value, account.service.subject, cites, account.samples, (), detail)


def _awake(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """The longest time for which a thread of the service ran or waited for a CPU and never slept."""
    del times
    rows = [
        (awake, row)
        for row in view.rows("threads")
        if row.text("pid") in account.service.pids and (awake := row.number("awake_ms")) is not None
    ]
    if rows:
        awake, row = max(rows, key=lambda item: item[0])
        detail: Detail = {
            "name": account.service.name,
            "thread": row.text("comm"),
            "waiting": round(account.waiting + account.queued, 1),
        }
        yield Measurement(
            awake,
            account.service.subject,
            (row.citation, *cite_rows(row for _, row in rows), *account.sources),
            account.samples,
            (),
            detail,
        )


def _awake_on_cpu(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Percent of the time in which threads of the service were not asleep that they were on a CPU."""
    del view, times
    running, runnable, held = (
        sum(amount.number for (name, _), amount in account.amounts.items() if name == activity)
        for activity in ("running", RUNNABLE, "throttled")
    )
    awake = running + runnable + held
    if awake > 0:
        yield Measurement(
            100.0 * running / awake, account.service.subject, cite_time(account), account.samples
        )


def _waiting_while_awake(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Requests that wait, for each thread that is awake: all of them wait while it works, none while it sleeps."""
    del view, times
    awake = sum(
        amount.number
        for (activity, _), amount in account.amounts.items()
        if activity in {"running", RUNNABLE, "throttled"}
    )
    if awake > 0 and account.citations:
        value = (account.waiting + account.queued) / min(1.0, awake)
        cites = (*_cite_requests(account), *cite_time(account))
        yield Measurement(value, account.service.subject, tuple(dict.fromkeys(cites)), account.samples)


def _contended(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Percent of the time that goes to what requests share, so that more workers would not shorten it."""
    del view
    share = _sum_contended(times, account, ())
    detail: Detail = {"name": account.service.name}
    cites = cite_time(account)
    interval = Interval("sampled", 100.0 * share.low, 100.0 * share.high)
    yield Measurement(
        100.0 * share.value, account.service.subject, cites, account.samples, (), detail, interval
    )


def _sum_contended(times: ServiceTimes, account: TimeAccount, path: tuple[frozenset[str], ...]) -> Share:
    """Return the share of the contended time of a service, including that of the local services it waits for."""
    waits = account.share_of(RUNNABLE, "").value
    is_cpu_short = waits > 0 and waits >= _CPU_SHORT * account.share_of("running", "").value
    shared = _CONTENDED | {"running"} if is_cpu_short else _CONTENDED
    parts = [account.share(lambda activity, target: activity in shared)]
    seen = (*path, account.service.pids)
    for target, service in account.callees.items():
        below = times.find(service)
        if below is not None and below.service.pids not in seen:
            wait, inside = account.share_of(PEER, target), _sum_contended(times, below, seen)
            parts.append(Share(wait.value * inside.value, wait.low * inside.low, wait.high * inside.high))
    return Share(*(min(1.0, sum(getattr(part, end) for part in parts)) for end in ("value", "low", "high")))


def cite_time(account: TimeAccount, *idle: Amount) -> tuple[Citation, ...]:
    """Return the rows of the busy time of a service, then all rows that its account is computed from."""
    rows = (citation for amount in (*account.amounts.values(), *idle) for citation in amount.citations)
    return (*dict.fromkeys(rows), *account.sources)


def _cite_requests(account: TimeAccount) -> tuple[Citation, ...]:
    """Return the rows of the requests of a service, then all rows that its account is computed from."""
    return (*account.citations, *account.sources)


def _share_of(
    activity: str,
    title: Text,
    *,
    per_target: bool = False,
    is_local: bool | None = None,
    is_file: bool | None = None,
) -> Measure:
    """Return the measure of the share of an activity in the time of a service that is not idle, in percent.

    A service that hardly does anything has no number: no thread and no request lost a tenth of its time.

    Args:
        activity: The activity.
        title: Title of the measure.
        per_target: One number for each target instead of one for all.
        is_local: Only targets that are services of this host, or only others.
        is_file: Only targets that are files, or only others.
    """

    def build(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
        del view
        targets = [
            target
            for name, target in account.amounts
            if name == activity
            and (is_local is None or is_local == (times.services.find_by_target(target) is not None))
            and (is_file is None or is_file == is_path(target))
        ]
        large = [to for to in targets if account.amounts[activity, to].number >= LEAST_WAITING]
        for target in large if per_target else ():
            yield _measure(account, activity, [target], account.share_of(activity, target), target)
        if not per_target and sum(account.amounts[activity, to].number for to in targets) < LEAST_WAITING:
            return
        if not per_target or not targets:
            share = account.share(lambda name, target: name == activity and target in targets)
            yield _measure(account, activity, targets, share, "")

    prefix = {None: "file_" if is_file else "", True: "local_", False: "remote_"}[is_local]
    return Measure(f"time.{prefix}{activity}_pct", "pct", title, NEEDS, read_accounts(build))


def _measure(
    account: TimeAccount, activity: str, targets: list[str], share: Share, target: str
) -> Measurement:
    amounts = [amount for (name, to), amount in account.amounts.items() if name == activity and to in targets]
    largest = max(targets, key=lambda to: account.amounts[activity, to].number, default="")
    detail: Detail = {
        "name": account.service.name,
        "target": (target or largest) or "-",
        "operation": next((amount.operation for amount in amounts if amount.operation), "-"),
        "longest": round(max((amount.longest_ms for amount in amounts), default=0.0)),
    }
    subject = account.service.subject
    if activity == PEER and target:
        subject = tuple(sorted((*subject, ("dst", target))))
    return Measurement(
        100 * share.value,
        subject,
        cite_time(account),
        account.samples,
        (),
        detail,
        Interval("sampled", 100 * share.low, 100 * share.high),
    )


OLDEST = Measure(
    "service.oldest_request_ms",
    "ms",
    Text("Longest wait of a request", "请求最长等待"),
    NEEDS,
    read_accounts(_oldest),
)
WAITING = Measure(
    "service.requests_waiting",
    "count",
    Text("Requests that wait", "等待中的请求"),
    NEEDS,
    read_accounts(_waiting),
)
QUEUED = Measure(
    "service.requests_queued", "count", Text("Requests that no thread has taken", "尚无线程接手的请求"), NEEDS,
    read_accounts(_queued),
)  # fmt: skip
QUEUED_PART = Measure(
    "service.queued_pct", "pct", Text("Requests that no thread has taken, of all", "尚未接手的请求占比"), NEEDS,
    read_accounts(_queued_part),
)  # fmt: skip
IS_NAMED = Measure(
    "service.is_named", "bool", Text("The diagnosis is about it", "诊断对象"), NEEDS, read_accounts(_is_named)
)
THREADS = Measure(
    "service.threads_count", "count", Text("Threads that serve", "服务线程数"), NEEDS, read_accounts(_threads)
)
BUSY_PART = Measure(
    "service.busy_threads_pct", "pct", Text("Serving threads that are busy", "忙碌的服务线程占比"), NEEDS,
    read_accounts(_busy_part),
)  # fmt: skip
LONGEST_AWAKE = Measure(
    "service.longest_awake_ms", "ms", Text("Longest time without a pause of a thread", "线程最长连续不停顿时间"), NEEDS,
    read_accounts(_awake),
)  # fmt: skip
AWAKE_ON_CPU = Measure(
    "service.awake_on_cpu_pct",
    "pct",
    Text("On a CPU while awake", "未休眠时占用 CPU 的比例"),
    NEEDS,
    read_accounts(_awake_on_cpu),
)
WAITING_WHILE_AWAKE = Measure(
    "service.waiting_while_awake", "count", Text("Requests that wait while it works", "其工作期间等待的请求"), NEEDS,
    read_accounts(_waiting_while_awake),
)  # fmt: skip
CONTENDED = Measure(
    "time.contended_pct", "pct", Text("Time for what requests share", "请求争用共享资源的时间"), NEEDS,
    read_accounts(_contended),
)  # fmt: skip
REMOTE_PEER = _share_of(
    PEER, Text("Time waiting for a remote peer", "等待远端的时间"), per_target=True, is_local=False
)
LOCAL_PEER = _share_of(
    PEER,
    Text("Time waiting for a service of this host", "等待本机服务的时间"),
    per_target=True,
    is_local=True,
)
DNS_TIME = _share_of("dns", Text("Time waiting for a name server", "等待域名服务器的时间"))
LOCK = _share_of("lock", Text("Time waiting for a lock", "等待锁的时间"), is_file=False)
FILE_LOCK = _share_of("lock", Text("Time waiting for the lock of a file", "等待文件锁的时间"), is_file=True)
DISK = _share_of("disk", Text("Time waiting for a disk", "等待磁盘的时间"))
FAULT = _share_of("fault", Text("Time in page faults", "处理缺页的时间"))
FILESYSTEM = _share_of(
    "filesystem", Text("Time waiting for a file system server", "等待文件系统服务端的时间")
)
PERMISSION = _share_of(
    "permission", Text("Time waiting for permission to open a file", "等待文件访问许可的时间")
)
RUNNING = _share_of("running", Text("Time on a CPU", "占用 CPU 的时间"))
RUNNABLE_TIME = _share_of(RUNNABLE, Text("Time waiting for a CPU", "等待 CPU 的时间"))
THROTTLED = _share_of("throttled", Text("Time held back by the CPU quota", "因 CPU 配额被限制的时间"))
PIPE = _share_of("pipe", Text("Time waiting for a pipe", "等待管道的时间"))
CHILD = _share_of("child", Text("Time waiting for a child process", "等待子进程的时间"))
CLIENT = _share_of("client", Text("Time sending to clients that do not read", "等待客户端读取的时间"))
STOPPED = _share_of("tracer", Text("Time stopped", "被暂停的时间"))
CONDITION = _share_of("condition", Text("Time waiting for other threads", "等待其他线程的时间"))
PARK = _share_of("park", Text("Time parked", "线程挂起的时间"))
SEMAPHORE = _share_of("semaphore", Text("Time waiting for a semaphore", "等待信号量的时间"))
SLEEP = _share_of("sleep", Text("Time asleep with a request", "持有请求时的休眠时间"))
UNSEEN = _share_of("unknown", Text("Time that no sample explains", "样本无法解释的时间"))
