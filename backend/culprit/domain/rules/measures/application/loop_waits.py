"""Measures of blocking calls in an event loop: while its one thread waits in one, it reads no other client.

A thread that has accepted several connections takes turns between them. Their requests stay in the receive queues of
the kernel until it reads them, so that unread requests show that it does something else. Where it waits in a call to
one peer, for a child or asleep, all of these clients wait for that call, one after the other. So do requests that it
has read at once and handles in turn, and connections that it has not yet accepted.
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
from culprit.domain.rules.measures.service_time.activities import CLIENT, PEER
from culprit.domain.rules.measures.service_time.amounts import Amount, Key, Share, add_amounts, compute_share
from culprit.domain.rules.measures.service_time.requests import IDLE_SERVER, RECEIVES, select_rows
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
    ThreadAmounts,
    ThrottledGroups,
    get_window_ms,
    read_thread_amounts,
)
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: A thread that has accepted so many connections at the same time takes turns between them.
_SEVERAL = 2.0
#: Waits of a thread for itself alone. Of several threads, an idle one may be in them.
_ALONE = frozenset(("child", "pipe", "sleep"))
_OWN: Key = ("", "")
_Index = Mapping[str, Sequence[TableRow]]
_waits: WeakKeyDictionary[HostView, list[tuple[TimeAccount, LoopWait]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class LoopWait:
    """The wait in which the one serving thread of a service spends most of its time that is not idle.

    `target` is the peer, empty for a wait without one. `share` is its part of that time, `others` the mean number of
    clients that wait in the meantime: those whose request the thread has not read and, where the thread waits without a
    peer, those whose request it has read and not answered.
    """

    target: str
    share: Share
    others: float
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
    """Return the longest wait of a service in which one thread serves several connections.

    Of a service with several processes that serve, nothing shows which of them accepted a short connection. A request
    that was read and not answered is in some thread: with two of them, threads that look idle may hold one. A
    loop accepts in its turn all that wait, while a worker for one connection leaves the others in the accept queue.
    What threads sleep, compute and wait for events adds up to one thread only if it is the same one that does each.
    """
    parents = {row.text("ppid") for row in service.rows}
    inbound = [row for row in select_rows(connections, service) if row.text("direction") == "in"]
    is_alone = sum(row.text("pid") not in parents for row in service.rows) == 1
    if not is_alone or sum_column(inbound, "connections") < _SEVERAL:
        return None
    threads = read_thread_amounts(service, rows, ThrottledGroups({}), window_ms)
    unread, queued = sum_column(inbound, "unread"), sum_column(select_rows(queues, service), "queue_mean")
    taken = sum_column(inbound, "waiting")
    alone = _select_own_waits(threads) if taken >= _SEVERAL or unread >= queued else {}
    free = threads.free - sum(amount.number for key, amount in alone.items() if key in threads.idle)
    spent = {**threads.busy, **alone}
    serving = sum(amount.number for amount in spent.values()) + free
    unclear = sum(amount.number for key, amount in threads.ambiguous.items() if key not in alone)
    waits = {key: amount for key, amount in threads.busy.items() if key[0] == PEER and unread >= queued}
    if alone:
        waits[_OWN] = add_amounts(alone.values())
    if not waits or serving >= SINGLE_THREAD or free >= IDLE_SERVER:
        return None
    if unclear >= LEAST_WAITING and taken >= SINGLE_THREAD:
        return None
    longest = max(waits, key=lambda key: (waits[key].number, key))
    is_own = longest == _OWN
    keys = alone.keys() if is_own else {longest}
    others = max(unread, taken + queued - 1.0) if is_own else unread
    share = compute_share(spent, lambda activity, to: (activity, to) in keys)
    return LoopWait(longest[1], share, others, waits[longest], tuple(inbound))


def _select_own_waits(threads: ThreadAmounts) -> Mapping[Key, Amount]:
    """Return waits of a thread without a peer, also in a call that reads one client: a loop never blocks there."""
    reads = {
        key: amount
        for key, amount in threads.idle.items()
        if key[0] == CLIENT and amount.operation in RECEIVES and amount.number > 0
    }
    return {**{key: amount for key, amount in threads.ambiguous.items() if key[0] in _ALONE}, **reads}


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
                "call": " ".join(filter(None, (wait.amount.operation or "-", wait.target))),
                "others": round(wait.others, 1),
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
    Text("Time of the one serving thread in a call that blocks", "唯一服务线程花在阻塞调用上的时间"),
    NEEDS,
    read_accounts(_build(_read_share)),
)
LOOP_OTHERS = Measure(
    "service.loop_others_count",
    "count",
    Text("Clients that wait while the serving thread does", "服务线程等待期间等待的客户端"),
    NEEDS,
    read_accounts(_build(lambda wait: (wait.others, None))),
)
