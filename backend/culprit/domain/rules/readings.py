"""Read numbers from a view: reductions of series, and derived measures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from collectors.contract import Text, Times, Values
from collectors.metrics.registry import METRICS, Metric
from collectors.registry import COLLECTORS
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Reading, Subject
from culprit.domain.rules.intervals import Interval, estimate_event_rate, estimate_mean, estimate_quantile
from culprit.domain.rules.rule import MetricReading, Reduction, RuleInput
from culprit.domain.rules.view import HostView, ViewSeries

RowIndex = np.ndarray[tuple[int], np.dtype[np.int64]]
#: A rule holds if it is true in at least 60 % of the time, which the 40th percentile shows.
HELD = 40.0
#: Reductions of a gauge that describe the time between its readings, with their quantile.
_SAMPLED: Mapping[Reduction, float] = {
    "mean": 0.5, "held": HELD / 100, "held_below": 1 - HELD / 100, "p95": 0.95,
}  # fmt: skip
#: Reductions that are one or two readings.
_PICKED = frozenset({"max", "min", "first", "last", "growth"})
#: Units of counters that count what happens by chance.
_EVENT_UNITS = frozenset({"per_s", "packets_per_s", "pages_per_s"})
#: Collectors whose output also covers the time before the capture.
HISTORY_COLLECTORS = frozenset({"app_metrics", "atop_history", "prom_service", "sar_history"})
#: A rate is stored at the end of the second that it covers.
STEP_NS = 1_000_000_000


@lru_cache(maxsize=1)
def collectors_by_metric() -> dict[str, tuple[str, ...]]:
    """Return the collectors that yield each metric, by metric ID."""
    results: dict[str, list[str]] = {}
    for collector in COLLECTORS.values():
        for metric in collector.yields:
            results.setdefault(metric, []).append(collector.id)
    return {metric: tuple(ids) for metric, ids in results.items()}


def get_unit(read: RuleInput) -> str:
    """Return the unit of a measure."""
    return METRICS[read.metric].unit if isinstance(read, MetricReading) else read.unit


def get_title(read: RuleInput) -> Text:
    """Return the title of a measure."""
    return METRICS[read.metric].title if isinstance(read, MetricReading) else read.title


def get_required_collectors(read: RuleInput) -> tuple[tuple[str, ...], ...]:
    """Return the collectors that a measure requires: one of each inner tuple."""
    return (collectors_by_metric().get(read.metric, ()),) if isinstance(read, MetricReading) else read.needs


def take_reading(view: HostView, read: RuleInput) -> Reading:
    """Return the numbers of a measure, or MissingData if required data was not stored."""
    for any_of in get_required_collectors(read):
        if not any(view.has_data(item) for item in any_of):
            return MissingData(view.missing_reason(any_of))
    if isinstance(read, MetricReading):
        reduced_ = [
            item for series in view.series_of(read.metric, read.where) for item in _reduce(series, read)
        ]
        return reduced_ or MissingData(view.missing_reason(get_required_collectors(read)[0]))
    result = read.read(view)
    return result if isinstance(result, MissingData) else [item for item in result if np.isfinite(item.value)]


def _reduce(series: ViewSeries, read: MetricReading) -> Iterator[Measurement]:
    names = series.axis_values if series.axis is not None else ("",)
    metric = METRICS[read.metric]
    citations: dict[bytes, Citation] = {}
    spans: dict[bytes, Values] = {}
    for at, name in enumerate(names):
        if read.axis and name != read.axis:
            continue
        values = series.values[:, at]
        known = ~np.isnan(values)
        rows = np.flatnonzero(known)
        if not len(rows):
            continue
        pairs = dict(series.labels)
        if series.axis is not None:
            pairs[series.axis] = name
        gaps = known.tobytes()
        if gaps not in spans:
            counted = metric.nature == "counter"
            spans[gaps] = (
                measure_spans_s(series.t_ns, rows) if counted else measure_spans_s(series.t_ns[rows])
            )
        weights = spans[gaps]
        reduced = reduce_values(values[rows], read.reduction, weights)
        key = gaps if read.reduction not in _PICKED else values.tobytes()
        if key not in citations:
            citations[key] = cite_series(series, values, rows, read.reduction)
        yield Measurement(
            reduced,
            tuple(sorted(pairs.items())),
            (citations[key],),
            len(rows),
            interval=_estimate(metric, values[rows], weights, read.reduction, reduced),
        )


def measure_spans_s(t_ns: Times, rows: RowIndex | None = None, single_s: float = 1.0) -> Values:
    """Return the seconds [m] that some rows (all by default) cover: from the row before each to itself.

    The time before the first row is unknown, so it covers as much as the others do in the median; a single row covers
    `single_s`.
    """
    rows = np.arange(len(t_ns)) if rows is None else rows
    spans: Values = np.maximum(t_ns[rows] - t_ns[np.maximum(rows - 1, 0)], 0) / STEP_NS
    if rows[0] == 0:
        spans[0] = float(np.median(spans[1:])) if len(rows) > 1 else single_s
    return spans if spans.any() else np.ones(len(rows))


def reduce_values(values: Values, how: Reduction, weights: Values | None = None) -> float:
    """Reduce [n] readings without NaN (n > 0) to one number, weighted by the seconds [n] that each covers."""
    shares = np.full(len(values), 1.0) if weights is None or not weights.any() else weights
    match how:
        case "mean":
            return float(values @ shares / shares.sum())
        case "max":
            return float(values.max())
        case "min":
            return float(values.min())
        case "sum":
            return float(values.sum())
        case "first":
            return float(values[0])
        case "last":
            return float(values[-1])
        case "growth":
            return float(values[-1] - values[0])
        case "p95":
            return float(np.percentile(values, 95))
        case "held":
            return -_find_held_below(-values, shares)
        case "held_below":
            return _find_held_below(values, shares)


def _find_held_below(values: Values, shares: Values) -> float:
    """Return the least value that is not exceeded in 60 % of the time."""
    order = np.argsort(values)
    reached = np.cumsum(shares[order])
    # a sum of many shares is off by a few units in the last place
    at = int(np.searchsorted(reached, (1 - HELD / 100) * reached[-1] * (1 - 1e-12)))
    return float(values[order[at]])


def _estimate(
    metric: Metric, values: Values, weights: Values, how: Reduction, reduced: float
) -> Interval | None:
    """Return the interval of a reduction: readings of a gauge are samples, and counters miss nothing."""
    if metric.nature == "gauge" and how in _SAMPLED:
        lowest = 0.0 if values.min() >= 0 else -math.inf
        highest = 100.0 if metric.unit == "pct" and values.max() <= 100 else math.inf
        if how == "mean":
            return estimate_mean(values, weights, lowest, highest)
        return estimate_quantile(values, _SAMPLED[how], lowest, highest)
    seconds = float(weights.sum())
    # the time that a single row covers is not known
    if how == "mean" and metric.unit in _EVENT_UNITS and reduced >= 0 and len(values) > 1 and seconds > 0:
        return estimate_event_rate(reduced * seconds, seconds)
    return None


def cite_series(series: ViewSeries, values: Values, rows: RowIndex, how: Reduction) -> Citation:
    """Return all lines that a number was computed from: the readings, and the reading that each follows.

    An extreme is one reading, and the growth is two.
    """
    if series.lines is None:
        return series.citation
    match how:
        case "max":
            cited = [int(rows[np.argmax(values[rows])])]
        case "min":
            cited = [int(rows[np.argmin(values[rows])])]
        case "first":
            cited = [int(rows[0])]
        case "last":
            cited = [int(rows[-1])]
        case "growth":
            cited = [int(rows[0]), int(rows[-1])]
        case _:
            cited = sorted({*rows.tolist(), *np.maximum(rows - 1, 0).tolist()})
    lines = tuple(dict.fromkeys(int(series.lines[at]) for at in cited if series.lines[at] > 0))
    return replace(series.citation, lines=lines)


def is_compatible(subject: Subject, other: Subject) -> bool:
    """Return whether two numbers may be about the same subject: no common name differs."""
    mine = dict(subject)
    return all(mine.get(name, value) == value for name, value in other)


def cite_captured_span(view: HostView) -> tuple[Citation, ...]:
    """Return the readings at which the time of `find_captured_span` begins and ends."""
    sampled = _list_sampled(view)
    if not sampled:
        return ()
    first = min(sampled, key=lambda item: int(item.t_ns[0]))
    last = max(sampled, key=lambda item: int(item.t_ns[-1]))
    return tuple(
        series.citation if series.lines is None else replace(series.citation, lines=(int(series.lines[at]),))
        for series, at in ((first, 0), (last, -1))
    )


def _list_sampled(view: HostView) -> list[ViewSeries]:
    """Return the series that were read during the capture."""
    return [
        series
        for series in view.series
        if series.citation.collector not in HISTORY_COLLECTORS and len(series.t_ns)
    ]


def find_captured_span(view: HostView) -> tuple[int, int] | None:
    """Return start and end of the capture. Logs and Prometheus also cover earlier time, and so does the span
    of the run.

    That time may belong to another window or precede a fix. It is cut off by the sampled series, or by the
    duration of the collectors.
    """
    if sampled := _list_sampled(view):
        return min(int(item.t_ns[0]) for item in sampled) - STEP_NS, max(
            int(item.t_ns[-1]) for item in sampled
        )
    watched_ns = int(1e9 * max((outcome.seconds for outcome in view.outcomes.values()), default=0.0))
    if view.span_ns is None or not watched_ns:
        return view.span_ns
    return max(view.span_ns[0], view.span_ns[1] - watched_ns), view.span_ns[1]
