"""How many calls a request makes to another service, one after the other, and how much time there is for one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.contract import Text
from culprit.domain.rules.finding import Citation, Measurement, Subject
from culprit.domain.rules.measures.application.growth import read_sent_segments
from culprit.domain.rules.measures.derived import Detail, cite_rows
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount
from culprit.domain.rules.measures.service_time.services import normalize_target, sum_column
from culprit.domain.rules.measures.service_time.shares import cite_time, read_accounts
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView

_THREADS = (("proc_threads",), ("tcp_waits",), ("snmp",))
_NEEDS = (*_THREADS, ("server_logs",))


@dataclass(frozen=True, slots=True)
class _Calls:
    """Calls of a service to the peer that it sends most to: their number per second, at most, and its name."""

    subject: Subject
    peer: str
    per_s: float
    citations: tuple[Citation, ...]


def _find_calls(view: HostView, times: ServiceTimes, account: TimeAccount) -> _Calls | None:
    """Return the calls of a service. Each sends a segment, and ends a sleep of the caller.

    So the lesser of these rates is an upper limit: a thread sleeps, and a host sends segments, for other reasons too.
    Of the segments, the service has the part that its connections to peers have of all small ones. The host also sends
    the answers of a local peer. An answer that comes before the caller sleeps does not count.
    """
    out = [row for row in view.rows("tcp_waits") if row.text("direction") == "out"]
    mine = [row for row in out if row.text("pid") in account.service.pids]
    sleepers = [row for row in view.rows("threads") if row.text("pid") in account.service.pids]
    sent, short = read_sent_segments(view), sum_column(out, "short_segments")
    if not mine or not sleepers or sent is None or not short:
        return None
    most = max(mine, key=lambda row: (row.number("short_segments") or 0.0, row.text("peer")))
    peer = normalize_target(most.text("peer"))
    callee = times.services.find_by_target(peer)
    segments = sent[0] * sum_column(mine, "short_segments") / short / (1 if callee is None else 2)
    place = tuple(sorted((*account.service.subject, ("dst", peer))))
    cites = (*cite_time(account), *cite_rows([most], sleepers), sent[2])
    per_s = min(segments, sum_column(sleepers, "voluntary_per_s"))
    return _Calls(place, callee.name if callee is not None else peer, per_s, cites)


def _read_request_rate(view: HostView) -> tuple[float, tuple[Citation, ...]]:
    """Return the requests per second of the log that has most, 0 without one.

    A request can be in several logs, so they are not added.
    """
    seconds = {(row.text("pid"), row.text("path")): row for row in view.rows("growing_logs")}
    best = 0.0
    cites: tuple[Citation, ...] = ()
    for row in view.rows("answers"):
        log = seconds.get((row.text("pid"), row.text("path")))
        took = log.number("seconds") if log is not None else None
        rate = (row.number("requests") or 0.0) / took if took else 0.0
        if log is not None and rate > best:
            best, cites = rate, (row.citation, log.citation)
    return best, cites


def _per_request(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """How many calls there are for each request in the log."""
    rate, cites = _read_request_rate(view)
    calls = _find_calls(view, times, account) if rate else None
    if calls is not None:
        detail: Detail = {
            "name": account.service.name, "peer": calls.peer, "requests": round(rate, 1),
            "ms": round(_compute_call_ms(account, calls), 2),
        }  # fmt: skip
        count = round(calls.per_s * view.covered_seconds("proc_threads"))
        yield Measurement(calls.per_s / rate, calls.subject, (*calls.citations, *cites), count, (), detail)


def _compute_call_ms(account: TimeAccount, calls: _Calls) -> float:
    """Return the milliseconds of requests in progress for each call: the call, and all that is done before the next.

    By Little's law: the requests in progress, as threads and as connections show them, over the calls per second.
    """
    return 1000.0 * max(account.total, account.waiting) / max(calls.per_s, 1.0)


def _call_time(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    calls = _find_calls(view, times, account)
    if calls is not None:
        count = round(calls.per_s * view.covered_seconds("proc_threads"))
        yield Measurement(_compute_call_ms(account, calls), calls.subject, calls.citations, count)


PER_REQUEST = Measure(
    "calls.per_request_count",
    "count",
    Text("Calls to another service for each request", "每个请求对其他服务的调用数"),
    _NEEDS,
    read_accounts(_per_request),
)
CALL_TIME = Measure(
    "calls.mean_ms",
    "ms",
    Text("Time of requests for each call", "每次调用对应的请求时间"),
    _THREADS,
    read_accounts(_call_time),
)
