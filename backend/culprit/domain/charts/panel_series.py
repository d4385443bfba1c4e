"""Series as tracks of a panel: one row of times for all, few enough to draw, each value with its own line."""

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
#: No host measures more than this in any unit: such a number is a mistake or a lie, and would overflow sums.
MAX_PLAUSIBLE = 1e18
#: Digits that a drawing can show; more only make answers longer.
DIGITS = 6


@dataclass(frozen=True, slots=True)
class PanelSeries:
    """One series of a panel: under which name, from which series, and which of its columns where it is a matrix."""

    id: str
    label: Label
    series: ViewSeries
    axis: str = ""

    def values(self) -> Values:
        """[n], what cannot be is no data."""
        own = self.series.values[:, 0] if not self.axis else get_axis_column(self.series, self.axis)
        if own is None:
            own = np.full(len(self.series.t_ns), np.nan)
        return drop_implausible(own)


def drop_implausible(values: Values) -> Values:
    """The same with NaN for what no host measures."""
    return np.where(np.abs(values) <= MAX_PLAUSIBLE, values, np.nan)


def read_cell(row: TableRow, name: str) -> float | None:
    """The cell as a number that can be shown; None where it is none."""
    value = row.number(name)
    return value if value is not None and abs(value) <= MAX_PLAUSIBLE else None


def find_series(view: HostView, metric: str, **where: str) -> ViewSeries | None:
    """The first series of a metric with these labels that has readings."""
    return next((series for series in view.series_of(metric, where) if len(series.t_ns)), None)


def list_series(view: HostView, rows: Iterable[tuple[str, Label, str]], **where: str) -> list[PanelSeries]:
    """(name, label, metric) of those series that there are."""
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
    """The series at the times of the longest of them; None where none has a reading that is a number."""
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
    """[n]: the values of a series at the times of another one; NaN where it has no reading near."""
    return _align_to_grid(panel_series, grid)[0]


def _align_to_grid(panel_series: PanelSeries, grid: RowIndexes) -> tuple[Values, RowIndexes]:
    """The values at the times of the grid and their rows: the reading nearest in time, within its usual step."""
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
    """A number as it is sent; None where it is none."""
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def compute_mean(panel_series: PanelSeries, unit: str) -> Figure | None:
    """The mean of a series with the first and last line of its values."""
    values = panel_series.values()
    rows = np.flatnonzero(np.isfinite(values))
    if not len(rows):
        return None
    return Figure(float(values[rows].mean()), unit, cite_ends(panel_series.series, rows))


def cite_ends(series: ViewSeries, rows: RowIndexes) -> Citation:
    """The first and the last of some rows: the citation of a mean over them."""
    return cite_rows(series, [int(rows[0]), int(rows[-1])])


def compute_span(panels: Sequence[Panel]) -> tuple[int, int]:
    """From the first to the last reading of panels that have some."""
    return min(panel.t_ns[0] for panel in panels), max(panel.t_ns[-1] for panel in panels)
