"""Requests of a service over the capture: how many, how many fail, how slow the slowest are.

One measure each, whoever measured it: the access log on the host, and where there is none the Prometheus of the
service. A service whose rate is only inferred from accepted connections has neither errors nor latency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Measure, Measured, Missing, Reading
from culprit.core.rules.read import captured, cited, reduced
from culprit.core.rules.view import Lane, View

#: The host's own log comes first: it has every request, where a Prometheus has what it scraped.
SOURCES = ("app_metrics", "prom_import")
PROXY = "accepts"
_NEEDS = ((*SOURCES, PROXY),)
#: What is scraped every minute, at most, stands for this long.
STALE_NS = 60 * 1_000_000_000


def _lanes(view: View, metric: str) -> list[Lane]:
    """The series of one source by route."""
    found = list(view.of(metric))
    for source in SOURCES:
        mine = [lane for lane in found if lane.cite.collector == source]
        if mine:
            return mine
    return []


def _mean(view: View, metric: str) -> Iterator[Measured]:
    """The mean over the capture, for each route. What was fetched also covers the time before: that is left out."""
    span = captured(view) if view.span_ns is not None else None
    for lane in _lanes(view, metric):
        rows = np.flatnonzero(~np.isnan(lane.values[:, 0]))
        if span is not None:
            t0, t1 = span
            at = lane.t_ns[rows]
            within = rows[(at >= t0) & (at <= t1)]
            before = rows[(at < t0) & (at >= t0 - STALE_NS)]
            rows = within if len(within) else before[-1:]
        if len(rows):
            route = lane.labels.get("route", "")
            cites = (cited(lane, lane.values[:, 0], rows, "mean"),)
            yield Measured(
                reduced(lane.values[rows, 0], "mean"),
                (("route", route),),
                cites,
                len(rows),
                (),
                {"route": route},
            )


def _over(metric: str) -> Callable[[View], Reading]:
    def read(view: View) -> Reading:
        found = list(_mean(view, metric))
        return found or _unknown(view)

    return read


def _unknown(view: View) -> Missing:
    """Why nobody can say."""
    if view.has(PROXY) and not any(view.has(one) for one in SOURCES):
        return Missing(Sentence("missing.only_accepts"))
    return Missing(view.why_not(SOURCES))


def _requests(view: View) -> Reading:
    """Requests behind the numbers: as the log counted them, else the rate times the length of the capture."""
    rows = {row.text("route"): row for row in view.rows("routes")}
    counted = [
        Measured(count, (("route", route),), (row.cite,), int(count))
        for route, row in rows.items()
        if (count := row.number("requests")) is not None
    ]
    if counted:
        return counted
    rates = list(_mean(view, "app.requests_per_s"))
    return [
        Measured(one.value * view.seconds, one.subject, one.citations, int(one.value * view.seconds))
        for one in rates
    ] or _unknown(view)


REQUESTS = Measure("app.requests_count", "count", Text("Requests", "请求数"), _NEEDS, _requests)
RATE = Measure("app.requests_rate", "per_s", Text("Requests a second", "每秒请求数"), _NEEDS,
               _over("app.requests_per_s"))  # fmt: skip
ERRORS = Measure("app.errors_share_pct", "pct", Text("Requests that fail", "失败请求占比"), _NEEDS,
                 _over("app.errors_pct"))  # fmt: skip
P99 = Measure("app.latency_p99_ms", "ms", Text("Slowest hundredth of the requests", "最慢百分之一的请求"), _NEEDS,
              _over("app.p99_ms"))  # fmt: skip
