"""Split the response time of processes into their own time and the time of the processes that they call. Pure.

`tcp_waits` samples how many requests are inside a process and how many of its calls are waiting. Each mean number is
a rate times a time (J. D. C. Little, "A Proof for the Queuing Formula L = lambda W", 1961). The rate is the same, so
the quotient is a share of the response time. Waits below 20 ms are not counted (see the collector `tcp_waits`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from collectors.contract import Sentence
from culprit.domain.calls.address_lookup import canonicalize_address
from culprit.domain.calls.calls import WAITS, CallGraph, HostCall, build_call_graph
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import HostView
from culprit.domain.statistics.intervals import wilson_interval

#: Minimum number of observed requests for shares.
MIN_OBSERVED = 10
#: Minimum share of the connections at the remote port that are ours; below it the times of the ends do not compare.
MIN_OWN_SHARE = 0.95
#: Minimum overlap of two captures, as a share of the shorter one.
MIN_OVERLAP = 0.5
P50 = "app.p50_ms"


@dataclass(frozen=True, slots=True)
class ResponseTimeSegment:
    """One part of the response time: `call` is the key of a call, empty for the own time of the process.

    `share` and `between` (its 95 % confidence interval) are 0..1; `ms` is None if the request rate is not known.
    """

    call: str
    share: float
    between: tuple[float, float]
    ms: float | None
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class ResponseTime:
    """The segments, largest first; `parallel` if the process waits for several responses at once."""

    requests: float
    observed: int
    segments: tuple[ResponseTimeSegment, ...]
    parallel: bool
    rate_per_s: float | None


@dataclass(frozen=True, slots=True)
class EndpointTimes:
    """Mean numbers of requests of one call: waiting at the caller, inside the callee, and in between."""

    caller: float
    callee: float
    between: float
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class LoggedTimes:
    """Median response times from the access logs of caller and callee. Medians do not add up: a bound, no split."""

    caller_ms: float
    callee_ms: float
    citations: tuple[Citation, ...]


def split_response_time(call_graph: CallGraph, view: HostView) -> ResponseTime | Sentence:
    """Return the response time of the processes of a call graph, or the reason why it cannot be split."""
    if not view.has_data(WAITS):
        return view.missing_reason([WAITS])
    served = call_graph.served
    if served is None or served.samples == 0:
        return Sentence("calls.no_clients")
    if len(served.names) > 1:
        return Sentence("calls.several_servers", {"names": ", ".join(served.names)})
    observed = round(served.waiting * served.samples)
    if observed < MIN_OBSERVED:
        return Sentence(
            "calls.too_few_observed",
            {"observed": observed, "samples": served.samples, "required": MIN_OBSERVED},
        )
    rate = _find_request_rate(view)
    segments = [
        _build_segment(call.key, call.waiting / served.waiting, observed, call.citations)
        for call in call_graph.outgoing
        if call.waiting
    ]
    total = sum(segment.share for segment in segments)
    segments.append(_build_segment("", max(0.0, 1.0 - total), observed, served.citations))
    if rate:
        per_request = 1000.0 * served.waiting / rate
        segments = [replace(segment, ms=segment.share * per_request) for segment in segments]
    segments.sort(key=lambda segment: (-segment.share, segment.call))
    return ResponseTime(served.waiting, observed, tuple(segments), total > 1.0, rate)


def _build_segment(
    call: str, share: float, observed: int, citations: tuple[Citation, ...]
) -> ResponseTimeSegment:
    share = min(share, 1.0)
    return ResponseTimeSegment(call, share, wilson_interval(share, observed), None, citations)


def _find_request_rate(view: HostView) -> float | None:
    """Return the requests per second of the service from its access log."""
    logged_mean = _find_logged_mean(view, "app.requests_per_s")
    return logged_mean[0] or None if logged_mean else None


def _find_logged_mean(view: HostView, metric: str) -> tuple[float, Citation] | None:
    """Return the mean of an access log metric and its source, if the log has one route or a total of all routes."""
    series = list(view.series_of(metric))
    whole = [item for item in series if not item.labels] or (series if len(series) == 1 else [])
    if not whole or not np.isfinite(whole[0].values).any():
        return None
    return float(np.nanmean(whole[0].values)), whole[0].citation


def find_logged_times(caller_view: HostView, callee_view: HostView) -> LoggedTimes | None:
    """Return the median times from the access logs of both hosts; None if one has no log or the times differ."""
    caller, callee = _find_logged_mean(caller_view, P50), _find_logged_mean(callee_view, P50)
    if caller is None or callee is None or not _has_overlap(caller_view, callee_view):
        return None
    return LoggedTimes(caller[0], callee[0], (caller[1], callee[1]))


def combine_ends(
    call: HostCall, caller_view: HostView, callee_view: HostView, caller_addresses: Collection[str]
) -> EndpointTimes | Sentence:
    """Return how many requests wait at the caller and are inside the callee, or why the two cannot be compared."""
    if call.waiting is None:
        if not caller_view.has_data(WAITS):
            return caller_view.missing_reason([WAITS])
        return Sentence("calls.no_waits")
    if not callee_view.has_data(WAITS):
        return Sentence("calls.far_not_measured", {"collector": WAITS})
    if not _has_overlap(caller_view, callee_view):
        return Sentence("calls.other_time")
    incoming = [item for item in build_call_graph(callee_view).incoming if item.port == call.port]
    connections = sum(item.connections or 0.0 for item in incoming)
    clients = {canonicalize_address(address) for address in caller_addresses}
    own_connections = sum(
        item.connections or 0.0 for item in incoming if canonicalize_address(item.remote) in clients
    )
    if not connections or own_connections < MIN_OWN_SHARE * connections:
        share = round(100 * own_connections / connections) if connections else 0
        return Sentence("calls.shared_port", {"share": share})
    rows = [
        row
        for row in callee_view.rows("tcp_waits")
        if row.text("direction") == "in" and row.text("peer") == str(call.port)
    ]
    inside = sum(row.number("waiting") or 0.0 for row in rows)
    cites = (*call.citations, *(row.citation for row in rows))
    return EndpointTimes(call.waiting, inside, max(0.0, call.waiting - inside), cites)


def _has_overlap(first: HostView, second: HostView) -> bool:
    """Return whether two captures overlap for at least MIN_OVERLAP of the shorter one."""
    if first.span_ns is None or second.span_ns is None:
        return False
    start, end = max(first.span_ns[0], second.span_ns[0]), min(first.span_ns[1], second.span_ns[1])
    shorter = min(first.span_ns[1] - first.span_ns[0], second.span_ns[1] - second.span_ns[0])
    return shorter > 0 and end - start >= MIN_OVERLAP * shorter
