"""Connections that a program does not close or read: CLOSE_WAIT, its share of open files, and unread requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.intervals import estimate_share
from culprit.domain.rules.measures.application.waits import (
    SESSIONS,
    count_samples,
    estimate_waiting,
    read_pid,
    sum_column,
)
from culprit.domain.rules.measures.derived import Detail, cite_rows
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow


def _unread(view: HostView) -> Iterator[Measurement]:
    """Return on how many connections from clients a request is not read, on average, by process."""
    inbound: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("tcp_waits"):
        if row.text("direction") == "in" and read_pid(row) and row.text("comm") not in SESSIONS:
            inbound[read_pid(row)].append(row)
    for pid, rows in inbound.items():
        interval = estimate_waiting(view, rows, "unread")
        detail: Detail = {"name": rows[0].text("comm")}
        yield Measurement(
            sum_column(rows, "unread"),
            (("pid", pid),),
            cite_rows(rows),
            count_samples(view),
            (),
            detail,
            interval,
        )


def _close_wait(view: HostView) -> Iterator[Measurement]:
    for row in _neglected(view):
        first, last = row.number("count_first") or 0.0, row.number("count_last") or 0.0
        growth = last - first
        detail: Detail = {"name": row.text("comm"), "growth": growth, "port": row.text("local_port")}
        yield Measurement(last, (("pid", read_pid(row)),), (row.citation,), int(last), (), detail)


def _close_wait_kept(view: HostView) -> Iterator[Measurement]:
    """Return how many of the sockets in CLOSE_WAIT at the start can still be there at the end, in percent."""
    for row in _neglected(view):
        first, last = row.number("count_first") or 0.0, row.number("count_last") or 0.0
        share = min(first, last) / first if first else 0.0
        interval = estimate_share(share, first)
        yield Measurement(
            100.0 * share, (("pid", read_pid(row)),), (row.citation,), int(first), interval=interval
        )


def _close_wait_of_fds(view: HostView) -> Iterator[Measurement]:
    counts = {read_pid(row): row for row in view.rows("fd_counts")}
    for row in _neglected(view):
        mine = counts.get(read_pid(row))
        opened = mine.number("open_last") if mine else None
        if mine is not None and opened:
            share = min(1.0, (row.number("count_last") or 0.0) / opened)
            cites, interval = cite_rows((row, mine)), estimate_share(share, opened)
            yield Measurement(100.0 * share, (("pid", read_pid(row)),), cites, int(opened), interval=interval)


def _close_wait_of_peer(view: HostView) -> Iterator[Measurement]:
    """Of the connections to the peer, the share that the peer has closed and this side has not: a pool of dead ones."""
    destinations = {(row.text("peer"), row.text("port")): row for row in view.rows("tcp_destinations")}
    for row in _neglected(view):
        peer = destinations.get((row.text("peer"), row.text("peer_port")))
        established = peer.number("established") if peer else None
        if peer is not None and established is not None:
            closed = row.number("count_last") or 0.0
            cites, count = cite_rows((row, peer)), closed + established
            share = closed / count if count else 0.0
            interval = estimate_share(share, count)
            yield Measurement(100.0 * share, (("pid", read_pid(row)),), cites, int(count), interval=interval)


def _neglected(view: HostView) -> Sequence[TableRow]:
    return [row for row in view.rows("close_wait") if read_pid(row)]


UNREAD = Measure("tcp.unread_requests_count", "count", Text("Requests not read", "未读取的请求"), (("tcp_waits",),),
                 lambda view: list(_unread(view)))  # fmt: skip
CLOSE_WAIT = Measure("tcp.close_wait_count", "count", Text("Sockets not closed", "未关闭的套接字"), (("ss",),),
                     lambda view: list(_close_wait(view)))  # fmt: skip
CLOSE_WAIT_KEPT = Measure("tcp.close_wait_kept_pct", "pct", Text("Still there", "仍然存在"), (("ss",),),
                          lambda view: list(_close_wait_kept(view)))  # fmt: skip
CLOSE_WAIT_OF_FDS = Measure("fd.close_wait_pct", "pct", Text("Share of open files", "占打开文件比例"),
                            (("ss",), ("fd_table",)), lambda view: list(_close_wait_of_fds(view)))  # fmt: skip
CLOSE_WAIT_OF_PEER = Measure("tcp.close_wait_of_peer_pct", "pct", Text("Share of connections", "占连接的比例"),
                             (("ss",),), lambda view: list(_close_wait_of_peer(view)))  # fmt: skip
