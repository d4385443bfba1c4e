"""Requests that wait inside a program that passes them on over fewer connections, and the connections it has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount
from culprit.domain.rules.measures.service_time.activities import UNKNOWN
from culprit.domain.rules.measures.service_time.services import sum_column
from culprit.domain.rules.measures.service_time.shares import Detail, cite_time, read_accounts
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: One connection serves all requests of a program at once; a pool has several that each serve one.
_LEAST_CONNECTIONS = 2.0
#: Where answers are due on more of the connections, the peer or their number is what requests wait for.
_MOST_WAITING = 0.5
#: A pool that is used up has all of its connections at any time; with fewer, a request could open a further one.
_LEAST_OF_MOST = 0.9
#: The most calls that are in progress at once behind one lock.
_SINGLE_CALL = 1.0
_NEEDS = (("proc_threads",), ("tcp_waits",))


def _inside_loop(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Requests inside an event loop: it takes requests without a thread each."""
    del times
    seen = {activity for activity, _ in (*account.idle, *account.amounts)}
    if "events" in seen and "park" not in seen:
        yield from _inside_per_connection(view, account)


def _inside_runtime(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Requests inside a runtime that parks threads and runs many tasks on few of them (Go).

    It has locks of its own. Behind one that is held during a call, no two calls are in progress at once: a mean above
    one excludes it.
    """
    del times
    if any(activity == "park" for activity, _ in (*account.idle, *account.amounts)):
        yield from _inside_per_connection(view, account, _SINGLE_CALL)


def _inside_per_connection(
    view: HostView, account: TimeAccount, more_calls_than: float = 0.0
) -> Iterator[Measurement]:
    """Requests that no thread and no peer works on, for each connection to a peer on which no answer is due.

    A request whose data a peer has not acknowledged has its connection and waits for the network. A pool whose number
    of connections changes has not reached its limit. Peers with no more calls in progress than stated are left out.
    """
    inside = account.amounts.get((UNKNOWN, ""))
    if inside is None:
        return
    groups: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("tcp_waits"):
        if row.text("direction") == "out" and row.text("pid") in account.service.pids:
            groups[row.text("peer")].append(row)
    sending = sum(sum_column(rows, "unsent") for rows in groups.values())
    held = max(0.0, inside.number - sending)
    for peer, rows in groups.items():
        connections = sum_column(rows, "connections")
        busy = sum_column(rows, "waiting") + sum_column(rows, "unsent")
        if connections < _LEAST_CONNECTIONS or busy > _MOST_WAITING * connections or not _is_used_up(rows):
            continue
        if more_calls_than and busy <= more_calls_than:
            continue
        detail: Detail = {
            "name": account.service.name,
            "peer": peer,
            "connections": round(connections, 1),
            "held": round(held, 1),
        }
        cites = tuple(dict.fromkeys((*cite_rows(rows), *inside.citations, *cite_time(account))))
        yield Measurement(held / connections, account.service.subject, cites, account.samples, (), detail)


def _is_used_up(rows: Sequence[TableRow]) -> bool:
    """Return whether a pool has about its greatest number of connections at any time; True where that was not read."""
    known = [row for row in rows if row.number("connections_most") is not None]
    return sum_column(known, "connections") >= _LEAST_OF_MOST * sum_column(known, "connections_most")


INSIDE_PER_CONNECTION = Measure(
    "app.inside_per_connection",
    "ratio",
    Text("Requests inside for each connection", "每个连接对应的内部排队请求"),
    _NEEDS,
    read_accounts(_inside_loop),
)
INSIDE_RUNTIME = Measure(
    "app.inside_runtime_per_connection",
    "ratio",
    Text(
        "Requests inside for each connection, of a runtime with tasks",
        "每个连接对应的内部排队请求（协程运行时）",
    ),
    _NEEDS,
    read_accounts(_inside_runtime),
)
