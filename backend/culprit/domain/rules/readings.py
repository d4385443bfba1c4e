"""Read numbers from a view: reductions of series, and derived measures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from collectors.contract import Text, Values
from collectors.metrics.registry import METRICS
from collectors.registry import COLLECTORS
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Reading, Subject
from culprit.domain.rules.rule import MetricReading, Reduction, RuleInput
from culprit.domain.rules.view import HostView, ViewSeries

#: A rule holds if it is true in at least 60 % of the readings, which the 40th percentile shows.
HELD = 40.0
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
    for at, name in enumerate(names):
        if read.axis and name != read.axis:
            continue
        values = series.values[:, at]
        rows = np.flatnonzero(~np.isnan(values))
        if not len(rows):
            continue
        pairs = dict(series.labels)
        if series.axis is not None:
            pairs[series.axis] = name
        yield Measurement(
            reduce_values(values[rows], read.reduction),
            tuple(sorted(pairs.items())),
            (cite_series(series, values, rows, read.reduction),),
            len(rows),
        )


def reduce_values(values: Values, how: Reduction) -> float:
    """Reduce [n] readings without NaN (n > 0) to one number."""
    match how:
        case "mean":
            return float(values.mean())
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
            return float(np.percentile(values, HELD, method="lower"))
        case "held_below":
            return float(np.percentile(values, 100 - HELD, method="higher"))


def cite_series(
    series: ViewSeries, values: Values, rows: np.ndarray[tuple[int], np.dtype[np.int64]], how: Reduction
) -> Citation:
    """Return the source lines of a number: the extreme reading for extremes, otherwise first and last."""
    if series.lines is None:
        return series.citation
    pick = {"max": [int(rows[np.argmax(values[rows])])], "min": [int(rows[np.argmin(values[rows])])]}.get(
        how, [int(rows[0]), int(rows[-1])]
    )
    lines = tuple(dict.fromkeys(int(series.lines[at]) for at in pick if series.lines[at] > 0))
    citation = series.citation
    return Citation(citation.run, citation.collector, citation.artifact, citation.part, lines)


def is_compatible(subject: Subject, other: Subject) -> bool:
    """Return whether two numbers may be about the same subject: no common name differs."""
    mine = dict(subject)
    return all(mine.get(name, value) == value for name, value in other)


def find_captured_span(view: HostView) -> tuple[int, int] | None:
    """Return start and end of the capture. Logs and Prometheus also cover earlier time, and so does the span
    of the run.

    That time may belong to another window or precede a fix. It is cut off by the sampled series, or by the
    duration of the collectors.
    """
    sampled = [
        series
        for series in view.series
        if series.citation.collector not in HISTORY_COLLECTORS and len(series.t_ns)
    ]
    if sampled:
        return min(int(item.t_ns[0]) for item in sampled) - STEP_NS, max(
            int(item.t_ns[-1]) for item in sampled
        )
    watched_ns = int(1e9 * max((outcome.seconds for outcome in view.outcomes.values()), default=0.0))
    if view.span_ns is None or not watched_ns:
        return view.span_ns
    return max(view.span_ns[0], view.span_ns[1] - watched_ns), view.span_ns[1]
