"""Requests that wait inside a program that passes them on over fewer connections, and the connections it has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

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
_NEEDS = (("proc_threads",), ("tcp_waits",))


def _inside_per_connection(
    view: HostView, times: ServiceTimes, account: TimeAccount
) -> Iterator[Measurement]:
    """Requests that no thread and no peer works on, for each connection to a peer on which no answer is due.

    Only event loops are measured: they take requests without a thread each. A runtime that parks threads has locks of
    its own, which look the same.
    """
    del times
    inside = account.amounts.get((UNKNOWN, ""))
    seen = {activity for activity, _ in (*account.idle, *account.amounts)}
    if inside is None or "events" not in seen or "park" in seen:
        return
    groups: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("tcp_waits"):
        if row.text("direction") == "out" and row.text("pid") in account.service.pids:
            groups[row.text("peer")].append(row)
    for peer, rows in groups.items():
        connections, waiting = sum_column(rows, "connections"), sum_column(rows, "waiting")
        if connections < _LEAST_CONNECTIONS or waiting > _MOST_WAITING * connections:
            continue
        detail: Detail = {
            "name": account.service.name,
            "peer": peer,
            "connections": round(connections, 1),
            "held": round(inside.number, 1),
        }
        cites = tuple(dict.fromkeys((*cite_rows(rows), *inside.citations, *cite_time(account))))
        value = inside.number / connections
        yield Measurement(value, account.service.subject, cites, account.samples, (), detail)


INSIDE_PER_CONNECTION = Measure(
    "app.inside_per_connection",
    "ratio",
    Text("Requests inside for each connection", "每个连接对应的内部排队请求"),
    _NEEDS,
    read_accounts(_inside_per_connection),
)
