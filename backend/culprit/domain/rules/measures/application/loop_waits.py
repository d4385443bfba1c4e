"""Measures of synchronous calls in an event loop: while its one thread waits for a peer, it reads no other client.

A thread that has accepted several connections takes turns between them. Their requests stay in the receive queues of
the kernel until it reads them, so that unread requests show that it does something else. Where it waits in a call to
one peer, all of these clients wait for that call, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.measures.derived import Detail, cite_rows
from culprit.domain.rules.measures.service_time.accounts import TimeAccount
from culprit.domain.rules.measures.service_time.activities import PEER
from culprit.domain.rules.measures.service_time.amounts import Amount, Share, compute_share
from culprit.domain.rules.measures.service_time.requests import IDLE_SERVER, select_rows
from culprit.domain.rules.measures.service_time.services import (
    SESSIONS,
    LocalService,
    index_rows,
    sum_column,
)
from culprit.domain.rules.measures.service_time.shares import (
    NEEDS,
    SINGLE_THREAD,
    cite_time,
    get_service_times,
    read_accounts,
)
from culprit.domain.rules.measures.service_time.thread_amounts import (
    ThrottledGroups,
    get_window_ms,
    read_thread_amounts,
)
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: A thread that has accepted so many connections at the same time takes turns between them.
_SEVERAL = 2.0
_Index = Mapping[str, Sequence[TableRow]]
_waits: WeakKeyDictionary[HostView, list[tuple[TimeAccount, LoopWait]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class LoopWait:
    """The wait for a peer in which the one serving thread of a service spends most of its time that is not idle.

    `share` is its part of that time, `unread` the mean number of accepted connections with a request that the thread
    has not read.
    """

    target: str
    share: Share
    unread: float
    amount: Amount
    rows: tuple[TableRow, ...]


def _list_loop_waits(view: HostView) -> list[tuple[TimeAccount, LoopWait]]:
    """Return the waits of all services with one such thread."""
    if view not in _waits:
        rows = index_rows(view.rows("thread_time"))
        connections = index_rows(row for row in view.rows("tcp_waits") if row.text("comm") not in SESSIONS)
        queues = index_rows(view.rows("listeners"))
        window_ms = get_window_ms(view.rows("process_time"))
        waits = (
            (account, _find_loop_wait(account.service, rows, connections, queues, window_ms))
            for account in get_service_times(view).accounts
        )
        _waits[view] = [(account, wait) for account, wait in waits if wait is not None]
    return _waits[view]


def _find_loop_wait(
    service: LocalService, rows: _Index, connections: _Index, queues: _Index, window_ms: float
) -> LoopWait | None:
    """Return the longest wait for one peer of a service in which one thread serves several connections.

    Of a service with several processes that serve, nothing shows which of them accepted a short connection. A request
    that was read and not answered is in some thread: with two of them, threads that look idle may hold one. A
    loop accepts in its turn all that wait, while a worker for one connection leaves the others in the accept queue.
    """
    parents = {row.text("ppid") for row in service.rows}
    inbound = [row for row in select_rows(connections, service) if row.text("direction") == "in"]
    is_alone = sum(row.text("pid") not in parents for row in service.rows) == 1
    if not is_alone or sum_column(inbound, "connections") < _SEVERAL:
        return None
    threads = read_thread_amounts(service, rows, ThrottledGroups({}), window_ms)
    serving = sum(amount.number for amount in threads.busy.values()) + threads.free
    others = sum(amount.number for amount in threads.ambiguous.values())
    waits = {target: amount for (activity, target), amount in threads.busy.items() if activity == PEER}
    if not waits or serving >= SINGLE_THREAD or threads.free >= IDLE_SERVER:
        return None
    if others >= LEAST_WAITING and sum_column(inbound, "waiting") >= SINGLE_THREAD:
        return None
    unread = sum_column(inbound, "unread")
    if sum_column(select_rows(queues, service), "queue_mean") > unread:
        return None
    target = max(waits, key=lambda item: (waits[item].number, item))
    share = compute_share(threads.busy, lambda activity, to: (activity, to) == (PEER, target))
    return LoopWait(target, share, unread, waits[target], tuple(inbound))


def _build(
    measure: Callable[[LoopWait], tuple[float, Interval | None]],
) -> Callable[[HostView, object, TimeAccount], Iterator[Measurement]]:
    """Return how one number of the wait of a service is read."""

    def build(view: HostView, times: object, account: TimeAccount) -> Iterator[Measurement]:
        del times
        for owner, wait in _list_loop_waits(view):
            if owner is not account:
                continue
            value, interval = measure(wait)
            detail: Detail = {
                "name": account.service.name,
                "target": wait.target or "-",
                "unread": round(wait.unread, 1),
                "operation": wait.amount.operation or "-",
            }
            cites = tuple(dict.fromkeys((*wait.amount.citations, *cite_rows(wait.rows), *cite_time(account))))
            yield Measurement(value, _name_place(account, wait), cites, account.samples, (), detail, interval)

    return build


def _name_place(account: TimeAccount, wait: LoopWait) -> Subject:
    place = (*account.service.subject, ("dst", wait.target)) if wait.target else account.service.subject
    return tuple(sorted(place))


def _read_share(wait: LoopWait) -> tuple[float, Interval | None]:
    low, high = 100.0 * wait.share.low, 100.0 * wait.share.high
    return 100.0 * wait.share.value, Interval("sampled", low, high)


LOOP_WAIT = Measure(
    "service.loop_waits_pct",
    "pct",
    Text("Time of the one serving thread in a call to a peer", "唯一服务线程花在调用对端上的时间"),
    NEEDS,
    read_accounts(_build(_read_share)),
)
LOOP_UNREAD = Measure(
    "service.loop_unread_count",
    "count",
    Text("Clients whose request the serving thread has not read", "服务线程尚未读取其请求的客户端"),
    NEEDS,
    read_accounts(_build(lambda wait: (wait.unread, None))),
)
