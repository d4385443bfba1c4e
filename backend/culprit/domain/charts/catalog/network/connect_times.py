"""Chart of the connection and request times of a probe, with the bands of SYN retransmits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from collectors.contract import Text
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.gauges import Tone
from culprit.domain.charts.bodies.histogram import Histogram, HistogramBand, HistogramBin
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import cite_rows, read_figure, sum_columns
from culprit.domain.rules.view import HostView, TableRow, ViewSeries, request_view

TITLE = Text("How long connecting took", "建立连接用了多久")
REQUESTS = Text("How long requests took", "请求用了多久")
#: Ranges in ms. A SYN is retransmitted 1 s after the first, then after 2 s and 4 s more; newer kernels wait 1 s four
#: times first (tcp_syn_linear_timeouts). Timers may fire late by some percent.
_RETRIES = ((980.0, 1300.0, "1 s"), (1980.0, 2300.0, "2 s"), (2980.0, 3400.0, "3 s"), (6980.0, 7600.0, "7 s"))
_STEPS = 6
_LOWEST_MS, _DECADES = 0.01, 7


def _compute_bin_edges() -> list[float]:
    """Return the bin edges from 0.01 ms to 100 s in logarithmic steps. Each retransmit band is a bin of its own."""
    grid = [_LOWEST_MS * 10 ** (at / _STEPS) for at in range(_DECADES * _STEPS + 1)]
    outside = [edge for edge in grid if not any(low < edge < high for low, high, _ in _RETRIES)]
    return sorted({*outside, *(edge for low, high, _ in _RETRIES for edge in (low, high))})


EDGES = np.array(_compute_bin_edges())


def build_charts(view: HostView) -> Sequence[RunChart]:
    """Return one histogram for each target of a probe, connections first."""
    return [
        chart
        for metric, kind, title in (("probe.connect_ms", "tcp", TITLE), ("probe.http_ms", "http", REQUESTS))
        for series in view.series_of(metric)
        for chart in _build_target_charts(view, series, kind, title)
    ]


def _build_target_charts(view: HostView, series: ViewSeries, kind: str, title: Text) -> Iterator[RunChart]:
    target = series.labels.get("target", "")
    row = next(
        (item for item in view.rows("probes") if (item.text("kind"), item.text("target")) == (kind, target)),
        None,
    )
    bins = _build_bins(series)
    related = tuple(_list_related_figures(row)) if row is not None else ()
    if not bins and not related:
        return
    bands = tuple(
        HistogramBand(low, high, Text(f"SYN retransmit {at}", f"SYN 重传 {at}"), "bad")
        for low, high, at in _RETRIES
    )
    markers = tuple(_list_markers(row)) if row is not None else ()
    body = Histogram("ms", bins, bands, markers, related)
    about = (("target", target),) if target else ()
    yield RunChart(f"{BUILDER.id}:{kind}:{target}", BUILDER.id, title, about, body=body)


def _build_bins(series: ViewSeries) -> tuple[HistogramBin, ...]:
    """Return the bins that are not empty."""
    values = sum_columns(series)
    known = np.flatnonzero(np.isfinite(values) & (values >= 0))
    if not len(known):
        return ()
    clipped = np.clip(values[known], EDGES[0], np.nextafter(EDGES[-1], 0.0))
    which = np.digitize(clipped, EDGES) - 1
    results = []
    for at in sorted(set(which.tolist())):
        rows = known[which == at]
        citation = cite_rows(series, [int(row) for row in rows[:50]])
        results.append(
            HistogramBin(float(EDGES[at]), float(EDGES[at + 1]), Figure(float(len(rows)), "count", citation))
        )
    return tuple(results)


def _list_markers(row: TableRow) -> Iterator[tuple[Text, Figure]]:
    for name, label in (("p50_ms", "p50"), ("p99_ms", "p99"), ("max_ms", "max")):
        figure = read_figure(row, name, "ms")
        if figure is not None and math.isfinite(figure.value):
            yield Text(label, "最大" if label == "max" else label), figure


def _list_related_figures(row: TableRow) -> Iterator[tuple[Text, Figure, Tone]]:
    for name, label in (
        ("timed_out", Text("no answer in time", "超时")),
        ("refused", Text("refused", "被拒绝")),
        ("failed", Text("failed otherwise", "其他失败")),
    ):
        figure = read_figure(row, name, "count")
        if figure is not None and figure.value > 0:
            yield label, figure, "bad"


BUILDER = ChartBuilder(
    id="connect-times",
    title=TITLE,
    summary=Text(
        "How many connections or requests took how long, on a logarithmic scale. The bands at 1, 2, 3 and 7 s are "
        "where a lost SYN is sent again: bars in them are lost packets or full accept queues, not slow programs. "
        "Between bands is slowness proper.",
        "多少次连接或请求用了多久（对数刻度）。1、2、3、7 秒处的色带是 SYN 丢失后重传的时刻："
        "落在其中的是丢包或 accept 队列已满，而不是程序慢。色带之间才是真正的慢。",
    ),
    reads=request_view(metrics=["probe.connect_ms", "probe.http_ms"], tables=["probes"]),
    collectors=("tcp_probe", "http_probe"),
    rules=(
        "F-NET-SYN-RETRANS", "F-NET-LOSS-ELSEWHERE", "F-NET-LISTEN-OVERFLOW", "F-NET-FW-STATISTIC",
        "F-NET-NETEM-PRESENT", "F-NET-QDISC-DROP", "F-NET-CONNTRACK-DROP", "F-NET-QUEUE-STANDS",
    ),
    build=build_charts,
)  # fmt: skip
