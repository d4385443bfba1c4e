"""Align series as tracks of a panel: common times, a bounded number of readings, a source line for each value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from collectors.contract import Values
from culprit.domain.charts.bodies.figure import Figure, FigureTrack, Label
from culprit.domain.charts.bodies.panels import MAX_READINGS, Panel, PanelLevel
from culprit.domain.charts.citations import cite_rows, list_lines
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import HostView, TableRow, ViewSeries, get_axis_column

RowIndexes = npt.NDArray[np.int64]
#: A larger absolute value is an error or forged, in any unit, and would overflow sums.
MAX_PLAUSIBLE = 1e18
#: Significant digits that a chart can display; more only make responses longer.
DIGITS = 6


@dataclass(frozen=True, slots=True)
class PanelSeries:
    """One series of a panel with its ID and label. `axis` selects the column of a matrix series."""

    id: str
    label: Label
    series: ViewSeries
    axis: str = ""

    def values(self) -> Values:
        """Return the values, float64 [n]; NaN for implausible ones and without the column `axis`."""
        own = self.series.values[:, 0] if not self.axis else get_axis_column(self.series, self.axis)
        if own is None:
            own = np.full(len(self.series.t_ns), np.nan)
        return drop_implausible(own)


def drop_implausible(values: Values) -> Values:
    """Return the values with NaN for those above MAX_PLAUSIBLE."""
    return np.where(np.abs(values) <= MAX_PLAUSIBLE, values, np.nan)


def read_cell(row: TableRow, name: str) -> float | None:
    """Return the number in a cell of a table row, or None if it has none or an implausible one."""
    value = row.number(name)
    return value if value is not None and abs(value) <= MAX_PLAUSIBLE else None


def find_series(view: HostView, metric: str, **where: str) -> ViewSeries | None:
    """Return the first series of a metric with these labels that has readings, or None."""
    return next((series for series in view.series_of(metric, where) if len(series.t_ns)), None)


def list_series(view: HostView, rows: Iterable[tuple[str, Label, str]], **where: str) -> list[PanelSeries]:
    """Return the series of these (name, label, metric) that the view has."""
    names = ((name, label, find_series(view, metric, **where)) for name, label, metric in rows)
    return [PanelSeries(name, label, series) for name, label, series in names if series is not None]


def build_panel(  # noqa: PLR0917 - what a panel is, in its own order
    name: str,
    label: Label,
    unit: str,
    check: str,
    series: Sequence[PanelSeries],
    panel_series: Sequence[PanelSeries] = (),
    levels: Sequence[PanelLevel] = (),
) -> Panel | None:
    """Return a panel of these series at the times of the longest one, or None without any finite reading."""
    known = [series for series in series if np.isfinite(series.values()).any()]
    if not known:
        return None
    grid = max(known, key=lambda item: len(item.series.t_ns)).series.t_ns
    placed = [_align_to_grid(item, grid) for item in known]
    readings = _select_readings(np.array([values for values, _ in placed]), MAX_READINGS)
    also = [
        (panel_series, _align_to_grid(panel_series, grid))
        for panel_series in panel_series
        if np.isfinite(panel_series.values()).any()
    ]
    return Panel(
        name,
        label,
        unit,
        "stack" if check == "stack" else "area" if check == "area" else "line",
        tuple(int(t) for t in grid[readings]),
        tuple(_build_track(item, unit, *at, readings) for item, at in zip(known, placed, strict=True)),
        tuple(_build_track(item, unit, *at, readings) for item, at in also),
        tuple(levels),
    )


def align_values(panel_series: PanelSeries, grid: RowIndexes) -> Values:
    """Return the values of a series at the times `grid` in ns, float64 [n]; NaN without a reading nearby."""
    return _align_to_grid(panel_series, grid)[0]


def _align_to_grid(panel_series: PanelSeries, grid: RowIndexes) -> tuple[Values, RowIndexes]:
    """Return the value and the row of the reading nearest to each time of the grid, within the median step.

    Without such a reading the value is NaN and the row -1.
    """
    values, own = panel_series.values(), panel_series.series.t_ns
    if len(own) == len(grid) and bool((own == grid).all()):
        return values, np.arange(len(own))
    if not len(own):
        return np.full(len(grid), np.nan), np.full(len(grid), -1)
    step = float(np.median(np.diff(own))) if len(own) > 1 else 1e9
    after = np.clip(np.searchsorted(own, grid), 1, max(len(own) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(own) - 1)
    rows = np.where(np.abs(own[after] - grid) < np.abs(own[before] - grid), after, before)
    near = np.abs(own[rows] - grid) <= step
    return np.where(near, values[rows], np.nan), np.where(near, rows, -1)


def _select_readings(values: Values, most: int) -> RowIndexes:
    """Select columns of [k, n] to draw: all, or the most extreme column of each interval."""
    n = values.shape[1]
    if n <= most:
        return np.arange(n)
    tops = np.nanmax(np.where(np.isfinite(values), np.abs(values), 0.0), axis=1, keepdims=True)
    height = (np.nan_to_num(np.abs(values)) / np.where(tops > 0, tops, 1.0)).sum(axis=0)
    edges = np.linspace(0, n, most + 1).astype(np.int64)
    return np.array([low + int(np.argmax(height[low:high])) for low, high in pairwise(edges.tolist())])


def _build_track(
    panel_series: PanelSeries, unit: str, values: Values, rows: RowIndexes, row_indexes: RowIndexes
) -> FigureTrack:
    known = list_lines(panel_series.series)
    return FigureTrack(
        panel_series.id,
        panel_series.label,
        unit,
        tuple(round_digits(value) for value in values[row_indexes].tolist()),
        tuple(int(known[row]) if row >= 0 else 0 for row in rows[row_indexes].tolist()),
        panel_series.series.citation,
    )


def round_digits(value: float, digits: int = DIGITS) -> float | None:
    """Round a number to significant digits for a response; None if it is not finite."""
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def compute_mean(panel_series: PanelSeries, unit: str) -> Figure | None:
    """Return the mean of a series, cited at the first and last line of its values; None without values."""
    values = panel_series.values()
    rows = np.flatnonzero(np.isfinite(values))
    if not len(rows):
        return None
    return Figure(float(values[rows].mean()), unit, cite_ends(panel_series.series, rows))


def cite_ends(series: ViewSeries, rows: RowIndexes) -> Citation:
    """Return the citation of the first and the last of these rows, for a mean over them."""
    return cite_rows(series, [int(rows[0]), int(rows[-1])])


def compute_span(panels: Sequence[Panel]) -> tuple[int, int]:
    """Return the times of the first and the last reading of these panels, in ns. Each panel needs a reading."""
    return min(panel.t_ns[0] for panel in panels), max(panel.t_ns[-1] for panel in panels)
