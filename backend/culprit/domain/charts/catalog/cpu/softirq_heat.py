"""Chart of softirq rates by vector and CPU over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from collectors.contract import Text, Values
from culprit.domain.charts.bodies.cpu_heat import (
    CELL_DIGITS,
    MAX_CELLS,
    MAX_CPUS,
    MAX_VECTORS,
    MIN_COLUMNS,
    MIN_VECTORS,
    CpuHeat,
    SoftirqMatrix,
)
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import list_lines
from culprit.domain.charts.panel_series import cite_ends, drop_implausible, round_digits
from culprit.domain.rules.view import HostView, ViewSeries, request_view

_TITLE = Text("Softirqs, CPU by CPU", "各 CPU 的软中断")
_NO_STEP_NS = 1_000_000_000
_EVEN_BELOW_PER_S = 1.0


def _build_charts(view: HostView) -> Sequence[RunChart]:
    series_list = [
        series for series in view.series_of("softirq.rate_per_s") if np.isfinite(_read_rates(series)).any()
    ]
    series_list.sort(
        key=lambda series: (-float(_compute_cpu_means(series).sum()), series.labels.get("vector", ""))
    )
    series_list = [
        series for series in series_list if float(_compute_cpu_means(series).sum()) > 0
    ] or series_list[:1]
    if not series_list:
        return ()
    t_ns, cpus = series_list[0].t_ns, _list_cpu_columns(series_list[0])
    same = [
        series
        for series in series_list
        if _list_cpu_columns(series) == cpus and len(series.t_ns) == len(t_ns)
    ]
    rendered = _select_vectors(
        same, max(MIN_VECTORS, min(MAX_VECTORS, MAX_CELLS // (len(cpus) * MIN_COLUMNS)))
    )
    columns = max(1, min(len(t_ns), MAX_CELLS // (len(cpus) * len(rendered))))
    edges = np.linspace(0, len(t_ns), columns + 1).astype(np.int64)
    step = int(np.median(np.diff(t_ns))) if len(t_ns) > 1 else _NO_STEP_NS
    body = CpuHeat(
        tuple(int(t_ns[at]) for at in edges[:-1]),
        max(1, step * len(t_ns) // columns),
        cpus,
        tuple(_build_matrix(series, edges) for series in rendered),
        _compute_busy_pct(view, cpus),
    )
    return [
        RunChart("softirq-heat", "softirq-heat", _TITLE, body=body, left_out=len(series_list) - len(rendered))
    ]


def _select_vectors(series_list: Sequence[ViewSeries], most: int) -> list[ViewSeries]:
    """Return the busiest vectors, always including NET_RX (received packets), the most relevant vector."""
    selected = list(series_list[:most])
    received = next(
        (series for series in series_list[most:] if series.labels.get("vector") == "NET_RX"), None
    )
    return [*selected[:-1], received] if received is not None else selected


def _list_cpu_columns(series: ViewSeries) -> tuple[str, ...]:
    """Return the names of the CPU columns, at most MAX_CPUS; empty if the axis is not CPUs."""
    return series.axis_values[: min(MAX_CPUS, series.values.shape[1])] if series.axis == "cpu" else ()


def _read_rates(series: ViewSeries) -> Values:
    """Return the rates, float64 [n, cpus]; NaN for negative or implausible values."""
    values = drop_implausible(series.values[:, : len(_list_cpu_columns(series))])
    return np.where(values >= 0, values, np.nan)


def _compute_cpu_means(series: ViewSeries) -> Values:
    """Return the mean rate of each CPU, float64 [cpus]; 0 without readings."""
    values = _read_rates(series)
    read = np.isfinite(values).sum(axis=0)
    return np.asarray(np.nansum(values, axis=0) / np.maximum(read, 1))


def _build_matrix(series: ViewSeries, edges: npt.NDArray[np.int64]) -> SoftirqMatrix:
    """Return the matrix of a vector. A column is the mean of its readings and cites the first line of them."""
    values = _read_rates(series)
    read = np.isfinite(values)
    sums = np.add.reduceat(np.where(read, values, 0.0), edges[:-1], axis=0)
    counts = np.add.reduceat(read.astype(np.int64), edges[:-1], axis=0)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    rates = _compute_cpu_means(series)
    top, mean = int(np.argmax(rates)), float(rates.mean())
    citation, known = cite_ends(series, np.flatnonzero(read.any(axis=1))), list_lines(series)
    uneven = float(rates[top]) / mean if mean > _EVEN_BELOW_PER_S and len(rates) > 1 else None
    return SoftirqMatrix(
        series.labels.get("vector", ""),
        "per_s",
        tuple(tuple(round_digits(item, CELL_DIGITS) for item in row) for row in means.T.tolist()),
        tuple(int(known[row]) for row in edges[:-1].tolist()),
        series.citation,
        Figure(float(rates.sum()), "per_s", citation),
        Figure(float(rates[top]), "per_s", citation),
        None if uneven is None else Figure(uneven, "count", citation),
        series.axis_values[top],
    )


def _compute_busy_pct(view: HostView, cpus: Sequence[str]) -> tuple[Figure | None, ...]:
    """Return the time of each CPU in softirqs over the capture, in percent; None if unknown."""
    series = next(
        (item for item in view.series_of("cpu.soft_pct") if item.axis == "cpu" and len(item.t_ns)), None
    )
    if series is None:
        return (None,) * len(cpus)
    figures: list[Figure | None] = []
    values, place = _read_rates(series), {name: at for at, name in enumerate(_list_cpu_columns(series))}
    for name in cpus:
        own = values[:, place[name]] if name in place else np.zeros(0)
        rows = np.flatnonzero(np.isfinite(own))
        figures.append(Figure(float(own[rows].mean()), "pct", cite_ends(series, rows)) if len(rows) else None)
    return tuple(figures)


BUILDER = ChartBuilder(
    id="softirq-heat",
    title=_TITLE,
    summary=Text(
        "Rows are CPUs, columns time; the bar at the right is the time that the CPU spent in softirqs. One bright row"
        " takes what many could share. A high rate alone is no fault.",
        "行是 CPU，列是时间；右侧条是该 CPU 处理软中断的时间占比。"
        "只有一行很亮，说明本可由多个 CPU 分担的工作落在一个上。速率高本身不是故障。",
    ),
    reads=request_view(metrics=("softirq.rate_per_s", "cpu.soft_pct")),
    collectors=("softirqs",),
    rules=("F-SOFTIRQ-HIGH", "F-SOFTIRQ-IMBALANCE", "F-SOFTNET-DROP", "F-SOFTNET-SQUEEZE", "F-NET-SMALL-PACKETS",
           "F-CPU-ONE-CORE"),
    build=_build_charts,
)  # fmt: skip
