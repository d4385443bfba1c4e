"""Series as tracks of a panel: one row of times for all, few enough to draw, each value with its own line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from collectors.contract import Values
from culprit.core.rules.contract import Citation
from culprit.core.rules.view import Lane, Row, View, column
from culprit.core.visuals.bodies.figure import Figure, Label, Track
from culprit.core.visuals.bodies.panels import MAX_READINGS, Level, Panel
from culprit.core.visuals.places import lines, lines_of

Rows = npt.NDArray[np.int64]
#: No host measures more than this in any unit: such a number is a mistake or a lie, and would overflow sums.
MOST = 1e18
#: Digits that a drawing can show; more only make answers longer.
DIGITS = 6


@dataclass(frozen=True, slots=True)
class Wanted:
    """One series of a panel: under which name, from which lane, and which of its columns where it is a matrix."""

    id: str
    label: Label
    lane: Lane
    axis: str = ""

    def values(self) -> Values:
        """[n], what cannot be is no data."""
        own = self.lane.values[:, 0] if not self.axis else column(self.lane, self.axis)
        if own is None:
            own = np.full(len(self.lane.t_ns), np.nan)
        return told(own)


def told(values: Values) -> Values:
    """The same with NaN for what no host measures."""
    return np.where(np.abs(values) <= MOST, values, np.nan)


def cell(row: Row, name: str) -> float | None:
    """The cell as a number that can be shown; None where it is none."""
    value = row.number(name)
    return value if value is not None and abs(value) <= MOST else None


def first(view: View, metric: str, **where: str) -> Lane | None:
    """The first series of a metric with these labels that has readings."""
    return next((lane for lane in view.of(metric, where) if len(lane.t_ns)), None)


def wanted(view: View, rows: Iterable[tuple[str, Label, str]], **where: str) -> list[Wanted]:
    """(name, label, metric) of those series that there are."""
    found = ((name, label, first(view, metric, **where)) for name, label, metric in rows)
    return [Wanted(name, label, lane) for name, label, lane in found if lane is not None]


def panel(  # noqa: PLR0917 - what a panel is, in its own order
    name: str,
    label: Label,
    unit: str,
    look: str,
    series: Sequence[Wanted],
    beside: Sequence[Wanted] = (),
    levels: Sequence[Level] = (),
) -> Panel | None:
    """The series at the times of the longest of them; None where none has a reading that is a number."""
    known = [one for one in series if np.isfinite(one.values()).any()]
    if not known:
        return None
    grid = max(known, key=lambda one: len(one.lane.t_ns)).lane.t_ns
    placed = [_placed(one, grid) for one in known]
    kept = _kept(np.array([values for values, _ in placed]), MAX_READINGS)
    also = [(one, _placed(one, grid)) for one in beside if np.isfinite(one.values()).any()]
    return Panel(
        name,
        label,
        unit,
        "stack" if look == "stack" else "area" if look == "area" else "line",
        tuple(int(t) for t in grid[kept]),
        tuple(_track(one, unit, *at, kept) for one, at in zip(known, placed, strict=True)),
        tuple(_track(one, unit, *at, kept) for one, at in also),
        tuple(levels),
    )


def at_times(one: Wanted, grid: Rows) -> Values:
    """[n]: the values of a series at the times of another one; NaN where it has no reading near."""
    return _placed(one, grid)[0]


def _placed(one: Wanted, grid: Rows) -> tuple[Values, Rows]:
    """The values at the times of the grid and their rows: the reading nearest in time, within its usual step."""
    values, own = one.values(), one.lane.t_ns
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


def _kept(values: Values, most: int) -> Rows:
    """Which of [k, n] columns are drawn: all, or of each stretch the one that stands out most."""
    n = values.shape[1]
    if n <= most:
        return np.arange(n)
    tops = np.nanmax(np.where(np.isfinite(values), np.abs(values), 0.0), axis=1, keepdims=True)
    height = (np.nan_to_num(np.abs(values)) / np.where(tops > 0, tops, 1.0)).sum(axis=0)
    edges = np.linspace(0, n, most + 1).astype(np.int64)
    return np.array([low + int(np.argmax(height[low:high])) for low, high in pairwise(edges.tolist())])


def _track(one: Wanted, unit: str, values: Values, rows: Rows, kept: Rows) -> Track:
    known = lines(one.lane)
    return Track(
        one.id,
        one.label,
        unit,
        tuple(rounded(value) for value in values[kept].tolist()),
        tuple(int(known[row]) if row >= 0 else 0 for row in rows[kept].tolist()),
        one.lane.cite,
    )


def rounded(value: float, digits: int = DIGITS) -> float | None:
    """A number as it is sent; None where it is none."""
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def mean_of(one: Wanted, unit: str) -> Figure | None:
    """The mean of a series with the first and last line that it rests on."""
    values = one.values()
    rows = np.flatnonzero(np.isfinite(values))
    if not len(rows):
        return None
    return Figure(float(values[rows].mean()), unit, ends(one.lane, rows))


def ends(lane: Lane, rows: Rows) -> Citation:
    """The first and the last of some rows: what a mean over them rests on."""
    return lines_of(lane, [int(rows[0]), int(rows[-1])])


def span(panels: Sequence[Panel]) -> tuple[int, int]:
    """From the first to the last reading of panels that have some."""
    return min(one.t_ns[0] for one in panels), max(one.t_ns[-1] for one in panels)
