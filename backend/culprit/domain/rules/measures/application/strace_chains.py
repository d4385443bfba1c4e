"""Who waits for whom in a trace of one process: request threads, and chains of threads that wake each other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Reading
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

Detail = dict[str, str | int | float]

#: How strace -yy shows a connection: TCP:[10.0.0.1:43210->10.0.0.2:6379].
_CONNECTION = re.compile(r"TCP(?:v6)?:\[(?:.+):(\d{1,5})->(.+:\d{1,5})\]")
_ASKS = re.compile(r"(p?readv?|pread64|recv(from|msg|mmsg)?|connect|p?writev?|send(to|msg)?)\Z")
#: These calls wait for a set of descriptors: a reply, the next client, or nothing at all.
_ANYTHING = re.compile(
    r"(epoll_p?wait2?|p?poll|p?select6?|pselect|accept4?|(clock_)?nanosleep|rt_sigtimedwait|wait4)\Z"
)
#: Shorter waits than this are not followed.
LONG_MS = 100.0
MAX_HOPS = 10
#: So many calls of a trace are kept one by one, the longest.
KEPT = 200
MAX_CHAINS = 20


def _listening(view: HostView) -> frozenset[str]:
    """Ports on which this host is asked: what waits there waits for a client."""
    ports = {row.text("port") for row in view.rows("listeners")}
    requested = {
        row.text("peer").rpartition(":")[2] for row in view.rows("tcp_waits") if row.text("direction") == "in"
    }
    return frozenset(port for port in ports | requested if port)


def _end(row: TableRow, ports: frozenset[str]) -> tuple[str, str]:
    """What a call waited for: ("peer" | "client" | "anything" | "futex" | "other", and what)."""
    syscall, what = row.text("syscall"), row.text("what")
    if _ANYTHING.match(syscall):
        return "anything", syscall
    if syscall == "futex":
        return "futex", syscall
    match = _CONNECTION.match(what)
    if match and _ASKS.match(syscall):
        return ("client", what) if match[1] in ports else ("peer", match[2])
    return "other", what or syscall


def _request_waits(view: HostView) -> Reading:
    """For each thread that talks to clients the longest call on what it waited most for, where that is a peer.

    Of threads that wrote to a disconnected client, only those are checked. Waiting for the next request delays no
    client, and a poll can be such a wait.
    """
    ports = _listening(view)
    by_thread: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("strace_calls"):
        by_thread[row.text("tid")].append(row)
    serving = {tid for tid, rows in by_thread.items() if any(_end(row, ports)[0] == "client" for row in rows)}
    victims = {tid for tid in serving if any(row.text("top_error") == "EPIPE" for row in by_thread[tid])}
    results = []
    for tid in sorted(victims or serving):
        spent: dict[tuple[str, str], float] = defaultdict(float)
        rows: dict[tuple[str, str], list[TableRow]] = defaultdict(list)
        for row in by_thread[tid]:
            end = _end(row, ports)
            if end[0] not in ("client", "anything"):
                spent[end] += row.number("total") or 0.0
                rows[end].append(row)
        if spent:
            most = max(spent, key=lambda end: spent[end])
            longest = max(rows[most], key=lambda row: row.number("max") or 0.0)
            value = (longest.number("max") or 0.0) if most[0] == "peer" else 0.0
            detail: Detail = {"call": longest.text("syscall"), "what": most[1], "total": round(spent[most])}
            calls = int(sum(row.number("calls") or 0 for row in rows[most]))
            cites = cite_rows(by_thread[tid], view.rows("listeners"), view.rows("tcp_waits"))
            if victims:
                cites = cite_rows(view.rows("strace_calls"), view.rows("listeners"), view.rows("tcp_waits"))
            results.append(Measurement(value, (("tid", tid),), cites, calls, (), detail))
    return results or _explain_missing_chain(view, "missing.no_request_threads")


def _explain_missing_chain(view: HostView, key: str) -> MissingData:
    return MissingData(Sentence(key) if view.has_data("strace") else view.missing_reason(("strace",)))


@dataclass(frozen=True, slots=True)
class _Trace:
    """A trace by thread: its long calls, and its waits at futexes that another thread ended.

    Only the longest calls of all threads are kept: one of less than `shortest_ms` may have been and is not known.
    """

    calls: Mapping[str, Sequence[TableRow]]
    woken: Mapping[str, Sequence[TableRow]]
    ports: frozenset[str]
    shortest_ms: float


def _trace(view: HostView) -> _Trace:
    calls: dict[str, list[TableRow]] = defaultdict(list)
    woken: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("strace_waits"):
        calls[row.text("tid")].append(row)
    for row in view.rows("strace_futex"):
        if (row.number("wakes") or 0) >= 1 and row.text("waker_tid"):
            woken[row.text("tid")].append(row)
    stored = view.rows("strace_waits")
    shortest_ms = (
        min((row.number("wait") or 0.0 for row in stored), default=0.0) if len(stored) >= KEPT else 0.0
    )
    return _Trace(calls, woken, _listening(view), shortest_ms)


def _chain_ends(view: HostView) -> Reading:
    """From each long wait that another thread ended along the wakers to the end of the chain.

    The value is how long the last thread waited for a peer, zero where it did something else. A chain with
    an unknown end (a poll, a circle, a wait that began before the trace) has none.
    """
    trace = _trace(view)
    starts = [
        row for rows in trace.woken.values() for row in rows if (row.number("max_wait") or 0) >= LONG_MS
    ]
    starts.sort(key=lambda row: -(row.number("max_wait") or 0.0))
    matching_starts = [item for row in starts[:MAX_CHAINS] if (item := _follow(trace, row)) is not None]
    return matching_starts or _explain_missing_chain(view, "missing.no_wait_chain")


def _follow(trace: _Trace, start: TableRow) -> Measurement | None:
    waits, cites = start, [start.citation]
    seen = {start.text("tid")}
    for hop in range(1, MAX_HOPS + 1):
        asleep = _call_of(trace, waits)
        waker = waits.text("waker_tid")
        if asleep is None or waker in seen:
            return None
        seen.add(waker)
        during = _during(trace, waker, asleep)
        kind, what = _end(during, trace.ports) if during else ("other", "CPU")
        detail: Detail = {"first": start.text("tid"), "last": waker, "hops": hop, "what": what}
        subject = (("tid", waker),)
        if during is None:
            unknown = trace.shortest_ms > 0.5 * (asleep.number("wait") or 0.0)
            return None if unknown else Measurement(0.0, subject, tuple(cites), hop, (), detail)
        cites.append(during.citation)
        if kind in ("anything", "client"):
            return None
        if kind != "futex":
            value = (during.number("wait") or 0.0) if kind == "peer" else 0.0
            return Measurement(value, subject, _both_ends(cites), hop, (), detail)
        further = [row for row in trace.woken.get(waker, ()) if _call_of(trace, row) is during]
        if not further:
            return None
        waits = further[0]
    return None


def _both_ends(cites: Sequence[Citation]) -> tuple[Citation, ...]:
    """The end of the chain first: that is what the number is."""
    return (cites[-1], *cites[:-1])


def _call_of(trace: _Trace, wait: TableRow) -> TableRow | None:
    """Return the call with a thread's longest wait at a futex, where the trace contains only the length."""
    length = wait.number("max_wait") or 0.0
    same = (
        row
        for row in trace.calls.get(wait.text("tid"), ())
        if row.text("syscall") == "futex" and abs((row.number("wait") or 0.0) - length) < 1e-3
    )
    return next(same, None)


def _during(trace: _Trace, tid: str, asleep: TableRow) -> TableRow | None:
    """The call that took most of the time in which another thread slept; None where none took half of it."""
    begin = asleep.number("t") or 0.0
    end = begin + (asleep.number("wait") or 0.0) / 1e3

    def shared(row: TableRow) -> float:
        at = row.number("t") or 0.0
        return min(end, at + (row.number("wait") or 0.0) / 1e3) - max(begin, at)

    longest = max(trace.calls.get(tid, ()), key=shared, default=None)
    return longest if longest is not None and shared(longest) >= 0.5 * (end - begin) else None


_NEEDS = (("strace",), ("ss_listen",))
REQUEST_WAIT = Measure("strace.request_wait_ms", "ms", Text("Wait of a request thread for a peer", "请求线程等待对端"),
                       _NEEDS, _request_waits)  # fmt: skip
CHAIN_END = Measure("futex.chain_end_ms", "ms", Text("Wait at the end of a chain of threads", "线程等待链末端的等待"),
                    _NEEDS, _chain_ends)  # fmt: skip
