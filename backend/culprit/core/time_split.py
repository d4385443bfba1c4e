"""The response time of processes, split into their own and that of whom they call. Pure.

Requests inside a process are counted at instants, and so are those that it waits for: the mean number of either is
its rate times its time (J. D. C. Little, "A Proof for the Queuing Formula L = lambda W", 1961), at the same rate,
so their quotient is a share of the time. Waits of less than 20 ms are not counted (see `collectors.catalog.tcp_waits`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from collectors.contract import Sentence
from culprit.core.calls import WAITS, Call, Calls, calls
from culprit.core.intervals import wilson
from culprit.core.rules.contract import Citation
from culprit.core.rules.view import View
from culprit.core.whereabouts import canonical

#: Fewer requests met inside than this say nothing about shares.
LEAST_MET = 10
#: How much of the connections at the far port must be ours, that what waits there may be taken for what we wait for.
LEAST_OURS = 0.95
#: How much of the shorter capture the two must have in common.
LEAST_OVERLAP = 0.5
P50 = "app.p50_ms"


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of the time: `call` is the key of a call, empty for the process's own time.

    `share` and `between` (where it lies in 95 of 100 cases) are of 0..1; `ms` where the rate of requests is known.
    """

    call: str
    share: float
    between: tuple[float, float]
    ms: float | None
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """The segments, the largest first; `parallel` where the process waits for several answers at once."""

    requests: float
    met: int
    segments: tuple[Segment, ...]
    parallel: bool
    rate_per_s: float | None


@dataclass(frozen=True, slots=True)
class Ends:
    """One wait seen from both sides: how many waited at the caller, were inside the callee, and were in between."""

    caller: float
    callee: float
    between: float
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Logged:
    """Median response times by the access logs of caller and callee. Medians do not add up: a bound, not a split."""

    caller_ms: float
    callee_ms: float
    citations: tuple[Citation, ...]


def split(found: Calls, view: View) -> Split | Sentence:
    """The response time of the processes of `found`; why there is none otherwise."""
    if not view.has(WAITS):
        return view.why_not([WAITS])
    served = found.served
    if served is None or served.looks == 0:
        return Sentence("calls.nobody_asks")
    if len(served.names) > 1:
        return Sentence("calls.several_serve", {"names": ", ".join(served.names)})
    met = round(served.waiting * served.looks)
    if met < LEAST_MET:
        return Sentence("calls.too_few_met", {"met": met, "looks": served.looks, "needed": LEAST_MET})
    rate = _rate_per_s(view)
    waited = [one for one in found.out if one.waiting]
    segments = [
        _segment(one.key, (one.waiting or 0.0) / served.waiting, met, one.citations) for one in waited
    ]
    total = sum(one.share for one in segments)
    segments.append(_segment("", max(0.0, 1.0 - total), met, served.citations))
    if rate:
        per_request = 1000.0 * served.waiting / rate
        segments = [replace(one, ms=one.share * per_request) for one in segments]
    segments.sort(key=lambda one: (-one.share, one.call))
    return Split(served.waiting, met, tuple(segments), total > 1.0, rate)


def _segment(call: str, share: float, met: int, citations: tuple[Citation, ...]) -> Segment:
    share = min(share, 1.0)
    return Segment(call, share, wilson(share, met), None, citations)


def _rate_per_s(view: View) -> float | None:
    """Requests a second of the service as its log says."""
    found = _logged(view, "app.requests_per_s")
    return found[0] or None if found else None


def _logged(view: View, metric: str) -> tuple[float, Citation] | None:
    """The mean of a metric of the access log, where the log is of one route or of all together."""
    lanes = list(view.of(metric))
    whole = [lane for lane in lanes if not lane.labels] or (lanes if len(lanes) == 1 else [])
    if not whole or not np.isfinite(whole[0].values).any():
        return None
    return float(np.nanmean(whole[0].values)), whole[0].cite


def logged(near: View, far: View) -> Logged | None:
    """What the access logs of both hosts say of the same time; None where one of them has none."""
    caller, callee = _logged(near, P50), _logged(far, P50)
    if caller is None or callee is None or not _together(near, far):
        return None
    return Logged(caller[0], callee[0], (caller[1], callee[1]))


def both_ends(call: Call, near: View, far: View, ours: Collection[str]) -> Ends | Sentence:
    """What we wait for at the far port, against what waits inside there; why the two cannot be compared otherwise."""
    if call.waiting is None:
        return near.why_not([WAITS]) if not near.has(WAITS) else Sentence("calls.no_waits")
    if not far.has(WAITS):
        return Sentence("calls.far_not_measured", {"collector": WAITS})
    if not _together(near, far):
        return Sentence("calls.other_time")
    there = [one for one in calls(far).into if one.port == call.port]
    connections = sum(one.connections or 0.0 for one in there)
    asking = {canonical(one) for one in ours}
    of_us = sum(one.connections or 0.0 for one in there if canonical(one.remote) in asking)
    if not connections or of_us < LEAST_OURS * connections:
        share = round(100 * of_us / connections) if connections else 0
        return Sentence("calls.others_ask_too", {"share": share})
    rows = [
        row
        for row in far.rows("tcp_waits")
        if row.text("direction") == "in" and row.text("peer") == str(call.port)
    ]
    inside = sum(row.number("waiting") or 0.0 for row in rows)
    cites = (*call.citations, *(row.cite for row in rows))
    return Ends(call.waiting, inside, max(0.0, call.waiting - inside), cites)


def _together(near: View, far: View) -> bool:
    """Whether the captures overlap for enough of their time."""
    if near.span_ns is None or far.span_ns is None:
        return False
    start, end = max(near.span_ns[0], far.span_ns[0]), min(near.span_ns[1], far.span_ns[1])
    shorter = min(near.span_ns[1] - near.span_ns[0], far.span_ns[1] - far.span_ns[0])
    return shorter > 0 and end - start >= LEAST_OVERLAP * shorter
