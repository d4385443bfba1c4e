"""Rates of a host, added up over its devices and CPUs, with the number of events behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from culprit.domain.rules.finding import Citation
from culprit.domain.rules.intervals import Interval, poisson_interval
from culprit.domain.rules.measures.derived import merge_citations
from culprit.domain.rules.readings import cite_series, measure_spans_s, reduce_values
from culprit.domain.rules.view import HostView, ViewSeries

#: They carry what the devices below them carry, and so count every packet twice.
STACKED = frozenset({"bond", "team", "bridge", "vlan", "macvlan", "ipvlan", "ifb", "openvswitch"})


@dataclass(frozen=True, slots=True)
class EventRate:
    """Events a second, the number of events, and where they were read; `citations` is empty if nothing was read."""

    value: float = 0.0
    count: float = 0.0
    seconds: float = 1.0
    citations: tuple[Citation, ...] = ()

    @property
    def interval(self) -> Interval:
        """The Poisson interval, per second."""
        low, high = poisson_interval(self.count)
        return Interval("events", low / self.seconds, high / self.seconds)


def list_stacked_devices(view: HostView) -> frozenset[str]:
    """Return the loopback and the devices that are stacked on others."""
    stacked = {row.text("dev") for row in view.rows("links") if row.text("kind") in STACKED}
    return frozenset({"lo", *stacked})


def read_event_rate(view: HostView, *metrics: str) -> EventRate:
    """Return the mean rate of counters, added up over series and columns, weighted by time."""
    skipped = list_stacked_devices(view)
    series_list = [
        series
        for metric in metrics
        for series in view.series_of(metric)
        if series.labels.get("dev") not in skipped
    ]
    return add_rates(rate for series in series_list for _, rate in list_column_rates(view, series))


def list_column_rates(view: HostView, series: ViewSeries) -> list[tuple[str, EventRate]]:
    """Return the rate of each column of a series by its name on the axis; columns without data are left out.

    A series of one row was read at the start and at the end of the capture.
    """
    names = series.axis_values if series.axis is not None else ("",)
    result = []
    for at, name in enumerate(names):
        values = series.values[:, at]
        rows = np.flatnonzero(np.isfinite(values))
        if len(rows):
            spans_s = measure_spans_s(series.t_ns, rows, view.covered_seconds(series.citation.collector))
            value, seconds = reduce_values(values[rows], "mean", spans_s), float(spans_s.sum())
            citation = cite_series(series, values, rows, "mean")
            result.append((name, EventRate(value, value * seconds, seconds, (citation,))))
    return result


def add_rates(rates: Iterable[EventRate]) -> EventRate:
    """Return the sum of rates that were measured at the same time."""
    items = list(rates)
    value, count = sum(item.value for item in items), sum(item.count for item in items)
    citations = merge_citations(each for item in items for each in item.citations)
    return EventRate(value, count, max((item.seconds for item in items), default=1.0), citations)
