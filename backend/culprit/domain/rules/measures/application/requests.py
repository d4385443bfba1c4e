"""Requests of a service over the capture: how many, how many fail, how slow the slowest are.

One measure each, from any source: the access log on the host, and without one the Prometheus of the
service. A service whose rate is only inferred from accepted connections has neither errors nor latency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Measurement, MissingData, Reading
from culprit.domain.rules.intervals import estimate_event_share
from culprit.domain.rules.readings import (
    cite_captured_span,
    cite_series,
    find_captured_span,
    measure_spans_s,
    reduce_values,
)
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, ViewSeries

#: The host's own log comes first: it has every request, where a Prometheus has what it scraped.
SOURCES = ("app_metrics", "prom_service")
PROXY = "accepts"
_NEEDS = ((*SOURCES, PROXY),)
#: The validity of one sample: Prometheus scrapes once a minute at most.
STALE_NS = 60 * 1_000_000_000


def _select_series(view: HostView, metric: str) -> list[ViewSeries]:
    """The series of one source by route."""
    result = list(view.series_of(metric))
    for source in SOURCES:
        mine = [series for series in result if series.citation.collector == source]
        if mine:
            return mine
    return []


def _mean(view: HostView, metric: str) -> Iterator[Measurement]:
    """The mean over the capture, for each route. What was fetched also covers the time before: that is left out."""
    span = find_captured_span(view) if view.span_ns is not None else None
    span_cites = cite_captured_span(view) if span is not None else ()
    counts = {row.text("route"): row for row in view.rows("routes")}
    for series in _select_series(view, metric):
        rows = np.flatnonzero(~np.isnan(series.values[:, 0]))
        if span is not None:
            t0, t1 = span
            at = series.t_ns[rows]
            within = rows[(at >= t0) & (at <= t1)]
            before = rows[(at < t0) & (at >= t0 - STALE_NS)]
            rows = within if len(within) else before[-1:]
        if len(rows):
            route = series.labels.get("route", "")
            cites = (cite_series(series, series.values[:, 0], rows, "mean"), *span_cites)
            weights = measure_spans_s(series.t_ns[rows])
            value = reduce_values(series.values[rows, 0], "mean", weights)
            # a percentile of all requests is exact; failures are events among them
            interval = None
            counted = counts.get(route)
            if metric == "app.errors_pct" and counted and (count := counted.number("requests")):
                interval = estimate_event_share(value * count / 100, count)
                cites = (*cites, counted.citation)
            yield Measurement(value, (("route", route),), cites, len(rows), (), {"route": route}, interval)


def _over(metric: str) -> Callable[[HostView], Reading]:
    def read(view: HostView) -> Reading:
        result = list(_mean(view, metric))
        return result or _unknown(view)

    return read


def _read_errors(view: HostView) -> Reading:
    """Return the share of failed requests of each route, with a doubt where the baseline has shown no lower one.

    A service that refuses crawlers fails part of its requests at any time, and that harms no user.
    """
    before = (
        {}
        if view.baseline is None
        else {item.subject: item for item in _mean(view.baseline, "app.errors_pct")}
    )
    result = []
    for item in _mean(view, "app.errors_pct"):
        then = before.get(item.subject)
        if then is not None and then.value > 0 and item.low <= then.high:
            doubts = (Sentence("doubt.share_as_before", {"before": round(then.value, 2)}),)
            result.append(replace(item, quality_issues=doubts))
        else:
            result.append(item)
    return result or _unknown(view)


def _unknown(view: HostView) -> MissingData:
    """Return the reason why there is no data."""
    if view.has_data(PROXY) and not any(view.has_data(source) for source in SOURCES):
        return MissingData(Sentence("missing.only_accepts"))
    return MissingData(view.missing_reason(SOURCES))


def _requests(view: HostView) -> Reading:
    """Requests behind the numbers: as the log counted them, else the rate times the length of the capture."""
    rows = {row.text("route"): row for row in view.rows("routes")}
    counted = [
        Measurement(count, (("route", route),), (row.citation,), int(count))
        for route, row in rows.items()
        if (count := row.number("requests")) is not None
    ]
    if counted:
        return counted
    rates = list(_mean(view, "app.requests_per_s"))
    return [
        Measurement(rate.value * view.seconds, rate.subject, rate.citations, int(rate.value * view.seconds))
        for rate in rates
    ] or _unknown(view)


REQUESTS = Measure("app.requests_count", "count", Text("Requests", "请求数"), _NEEDS, _requests)
RATE = Measure("app.requests_rate", "per_s", Text("Requests a second", "每秒请求数"), _NEEDS,
               _over("app.requests_per_s"))  # fmt: skip
ERRORS = Measure("app.errors_share_pct", "pct", Text("Requests that fail", "失败请求占比"), _NEEDS,
                 _read_errors)  # fmt: skip
P99 = Measure("app.latency_p99_ms", "ms", Text("Slowest hundredth of the requests", "最慢百分之一的请求"), _NEEDS,
              _over("app.p99_ms"))  # fmt: skip
