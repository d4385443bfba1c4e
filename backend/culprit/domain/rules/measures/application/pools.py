"""Pools of connections and single threads that all requests of a process pass through."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.intervals import estimate_share
from culprit.domain.rules.measures.application.counters import build_listed_measure, build_presence
from culprit.domain.rules.measures.application.waits import SESSIONS, sum_column
from culprit.domain.rules.measures.derived import Detail, cite_rows
from culprit.domain.rules.view import HostView, TableRow

_WAITS = (("tcp_waits",),)
#: Percent of its time. Below it, the few samples of its sleep can all be at one lock by chance.
_HARDLY_ASLEEP = 5.0


def _group_by_pid(view: HostView, direction: str) -> Mapping[str, list[TableRow]]:
    """Return the rows of one direction by process."""
    rows: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("tcp_waits"):
        if row.text("direction") == direction and row.number("pid") and row.text("comm") not in SESSIONS:
            rows[row.text("pid")].append(row)
    return rows


def _list_full_pools(view: HostView) -> Iterator[tuple[TableRow, list[TableRow]]]:
    """Yield each connection group of a process to a peer, and the requests that the process holds."""
    requests = _group_by_pid(view, "in")
    for pid, rows in _group_by_pid(view, "out").items():
        if pid in requests:
            for row in rows:
                yield row, requests[pid]


def _pool_use(view: HostView) -> Iterator[Measurement]:
    """Percent of the connections to a peer on which a question is unanswered at any time."""
    for row, requests in _list_full_pools(view):
        connections, waiting = row.number("connections"), row.number("waiting")
        if connections and waiting is not None and connections >= 1:
            held = sum_column(requests, "waiting")
            detail: Detail = {
                "name": row.text("comm"),
                "peer": row.text("peer"),
                "connections": round(connections, 1),
                "held": round(held, 1),
            }
            subject = (("dst", row.text("peer")), ("pid", row.text("pid")))
            cites = cite_rows([row], requests)
            samples = round(row.number("samples") or 0)
            yield Measurement(min(100.0, 100.0 * waiting / connections), subject, cites, samples, (), detail)


def _unacknowledged(view: HostView) -> Iterator[Measurement]:
    """Of the requests that a process waits for at a peer, the percentage that the peer has not yet acknowledged."""
    for pid, rows in _group_by_pid(view, "out").items():
        for row in rows:
            unsent, waiting = row.number("unsent") or 0.0, row.number("waiting") or 0.0
            if unsent + waiting > 0:
                detail: Detail = {
                    "name": row.text("comm"),
                    "peer": row.text("peer"),
                    "unsent": round(unsent, 1),
                    "waiting": round(waiting, 1),
                }
                subject = (("dst", row.text("peer")), ("pid", pid))
                samples = round(row.number("samples") or 0)
                yield Measurement(
                    100.0 * unsent / (unsent + waiting), subject, (row.citation,), samples, (), detail
                )


def _unsent(view: HostView) -> Iterator[Measurement]:
    """Connections to a peer on which data of this host is not acknowledged, on average."""
    for pid, rows in _group_by_pid(view, "out").items():
        for row in rows:
            unsent = row.number("unsent")
            if unsent is not None:
                subject = (("dst", row.text("peer")), ("pid", pid))
                yield Measurement(unsent, subject, (row.citation,), round(row.number("samples") or 0))


def _queue_ratio(view: HostView) -> Iterator[Measurement]:
    """Requests in hand for each connection to the peer."""
    for row, requests in _list_full_pools(view):
        connections = row.number("connections")
        if connections:
            subject = (("dst", row.text("peer")), ("pid", row.text("pid")))
            cites = cite_rows([row], requests)
            yield Measurement(sum_column(requests, "waiting") / connections, subject, cites, 1)


def _time_ratio(view: HostView) -> Iterator[Measurement]:
    """How many times longer callers wait than the process waits for its peer."""
    for row, requests in _list_full_pools(view):
        theirs = row.number("oldest")
        mine = max((item.number("oldest") or 0.0 for item in requests), default=0.0)
        if theirs and mine:
            subject = (("dst", row.text("peer")), ("pid", row.text("pid")))
            cites = cite_rows([row], requests)
            yield Measurement(mine / theirs, subject, cites, 1)


def _busy_loops(view: HostView) -> Iterator[Measurement]:
    """CPU of the one thread that does the work of a process which has clients."""
    requests = _group_by_pid(view, "in")
    threads: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("threads"):
        threads[row.text("pid")].append(row)
    for pid in requests.keys() & threads.keys():
        top = max(threads[pid], key=lambda row: row.number("cpu_pct") or 0.0)
        cpu = top.number("cpu_pct")
        if cpu is not None:
            whole = sum_column(threads[pid], "cpu_pct")
            detail: Detail = {
                "name": requests[pid][0].text("comm"),
                "thread": top.text("comm"),
                "share": round(100.0 * cpu / whole) if whole else 0,
            }
            yield Measurement(
                cpu,
                (("pid", pid),),
                cite_rows(threads[pid], requests[pid]),
                round(top.number("samples") or 0),
                (),
                detail,
            )


def _busiest_threads(view: HostView) -> Iterator[tuple[str, TableRow, list[TableRow]]]:
    """The PID of each process that uses the CPU, its busiest thread and all of its threads."""
    threads: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("threads"):
        threads[row.text("pid")].append(row)
    for pid, rows in threads.items():
        if sum_column(rows, "cpu_pct") > 0:
            yield pid, max(rows, key=lambda row: row.number("cpu_pct") or 0.0), rows


def _loop_share(view: HostView) -> Iterator[Measurement]:
    """Percent of the CPU of a process that its busiest thread uses."""
    for pid, top, rows in _busiest_threads(view):
        part = (top.number("cpu_pct") or 0.0) / sum_column(rows, "cpu_pct")
        yield Measurement(100.0 * part, (("pid", pid),), cite_rows(rows), len(rows))


def _handed_work(view: HostView) -> Iterator[Measurement]:
    """Percent of its sleep that the busiest thread of a process spends at a futex.

    A loop sleeps in a call that waits for events of its clients (epoll, poll, select, io_uring). A thread that sleeps
    at a futex gets its work from another thread, or waits for a lock, while others read what clients send. 0 if it
    sleeps elsewhere, hardly sleeps, or the kernel does not list where it sleeps.
    """
    for pid, top, rows in _busiest_threads(view):
        asleep, waits = top.number("sleeping_pct") or 0.0, top.number("wchan_pct") or 0.0
        samples = (top.number("samples") or 0.0) * asleep / 100.0
        at_futex = top.text("wchan").startswith("futex") and waits >= _HARDLY_ASLEEP
        share = min(1.0, waits / asleep) if at_futex and asleep > 0 else 0.0
        interval = estimate_share(share, samples) if at_futex else None
        yield Measurement(
            100.0 * share,
            (("pid", pid),),
            cite_rows(rows),
            round(top.number("samples") or 0),
            interval=interval,
        )


POOL_USE = build_listed_measure(
    "pool.connections_busy_pct",
    "pct",
    "Connections to a peer that wait for an answer",
    "等待应答的连接占比",
    _WAITS,
    _pool_use,
)
UNACKNOWLEDGED = build_listed_measure(
    "peer.unacknowledged_pct",
    "pct",
    "Requests that the peer has not acknowledged",
    "对端尚未确认的请求占比",
    _WAITS,
    _unacknowledged,
)
UNSENT = build_listed_measure(
    "peer.unacknowledged_count",
    "count",
    "Connections with unacknowledged data",
    "有未确认数据的连接数",
    _WAITS,
    _unsent,
)
QUEUE_RATIO = build_listed_measure(
    "pool.requests_per_connection",
    "count",
    "Requests in hand for each connection",
    "每个连接对应的在手请求数",
    _WAITS,
    _queue_ratio,
)
TIME_RATIO = build_listed_measure(
    "pool.wait_ratio",
    "count",
    "Wait of callers against the wait for the peer",
    "调用方等待与对端等待之比",
    _WAITS,
    _time_ratio,
)
LOOP_CPU = build_listed_measure(
    "loop.thread_cpu_pct", "pct", "CPU of the thread that serves all clients", "服务所有客户端的线程的 CPU",
    (("proc_threads",), ("tcp_waits",)), _busy_loops,
)  # fmt: skip
LOOP_SHARE = build_listed_measure(
    "loop.thread_share_pct",
    "pct",
    "Part of the process in one thread",
    "单个线程占进程 CPU 的比例",
    (("proc_threads",),),
    _loop_share,
)
HANDED_WORK = build_listed_measure(
    "loop.futex_sleep_pct",
    "pct",
    "Sleep of the busiest thread at a futex",
    "最忙线程的睡眠中停在 futex 的占比",
    (("proc_threads",),),
    _handed_work,
)
REDIS_PRESENT = build_presence(
    "redis.programs_count", Text("Redis servers", "Redis 服务"), r"redis-server|valkey-server|keydb-server"
)
JVM_PRESENT = build_presence("jvm.programs_count", Text("Java programs", "Java 程序"), r"java")
