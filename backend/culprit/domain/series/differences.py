"""Compare a series between two time ranges, in steps of its normal variation. Without I/O.

The unit of comparison is one step: the spread of the values in the first range, which is the variation of the series
without a change. A series that is constant there has a step of 2 % of its mean, and at least the smallest relevant
step of its unit. A difference counts only if it is statistically significant: adjacent values of a series are
correlated, so its number of values is reduced to the effective one (Bayley and Hammersley, "The Effective Number of
Independent Observations in an Autocorrelated Time Series", 1946).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

MIN_VALUES = 4
"""Minimum number of values on each side for a spread."""
MAX_STEPS = 100.0
"""Differences are clipped to this number of steps; larger ones have no meaningful order."""
MIN_SHARE = 0.02
"""Two means that differ by less than 2 % are equal."""
STANDARD_ERRORS = 3.0
"""A difference must exceed this many standard errors: of 1,000 equal series, 3 exceed it by chance."""
MIN_STEP = {
    "pct": 1.0,
    "per_s": 1.0,
    "count": 0.5,
    "kb": 1024.0,
    "kb_per_s": 16.0,
    "mb_per_s": 0.1,
    "ms": 0.1,
    "packets_per_s": 1.0,
    "pages_per_s": 1.0,
    "bytes": 4096.0,
    "mhz": 20.0,
}
"""The smallest relevant step, by unit. It only determines the order of a list."""
# Of a normal distribution, in standard deviations: the median absolute deviation, and the range from 5 to 95 %.
_MEDIAN_DEVIATION, _MIDDLE_90 = 0.6745, 3.29
# With the values of a single capture, a higher correlation cannot be distinguished from a trend.
_MAX_CORRELATION = 0.9


@dataclass(frozen=True, slots=True)
class ValueSummary:
    """The values of a series in a time range: their number, mean, minimum and maximum."""

    n: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """The difference of a series between the first and the second range.

    `steps` is positive if it grew; None if a side has fewer than `MIN_VALUES` values. `ratio` is second to first mean;
    None if the first is below the smallest step of the unit, where a ratio is meaningless. `is_clear`: the difference
    is at least one step and significant; with few values, it is at least the smallest step of the unit and 2 %.
    """

    before: ValueSummary
    after: ValueSummary
    steps: float | None
    ratio: float | None
    is_clear: bool
    rank: tuple[float, float]
    """Sort key: larger differences have the smaller key."""


def summarize_values(values: Float) -> ValueSummary | None:
    """Return the summary of values [n]; NaN is no data; None without any data."""
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return None
    return ValueSummary(len(known), float(known.mean()), float(known.min()), float(known.max()))


def compare_values(before: Float, after: Float, unit: str) -> ValueDifference | None:
    """Compare the values [n] and [m] of one series in two ranges, in the order of time; NaN is no data.

    Returns None if a side has no data.
    """
    compared = compare_columns(before[:, None], after[:, None], unit)
    return compared.get_difference(0) if compared.is_known[0] else None


@dataclass(frozen=True, slots=True)
class ColumnSummaries:
    """The values of columns [k] in a time range: number, mean, minimum and maximum; NaN without any data."""

    n: Int
    mean: Float
    low: Float
    high: Float

    def get_summary(self, column: int) -> ValueSummary:
        """Return the summary of a column."""
        values = (float(item[column]) for item in (self.mean, self.low, self.high))
        return ValueSummary(int(self.n[column]), *values)


@dataclass(frozen=True, slots=True)
class ColumnDifferences:
    """The differences of columns [k] between two ranges; see `ValueDifference`.

    `is_known` is False where a side has no data, and `has_steps` where a side has fewer than `MIN_VALUES` values.
    `steps` and `ratio` are NaN where they are unknown. `size` is the change in the smallest relevant steps.
    """

    before: ColumnSummaries
    after: ColumnSummaries
    is_known: Bool
    has_steps: Bool
    steps: Float
    ratio: Float
    size: Float
    is_clear: Bool

    def find_largest(self) -> int | None:
        """Return the column that differs most, clear differences first; None if no column is known."""
        known = np.flatnonzero(self.is_known)
        if len(known) == 0:
            return None
        without_steps = ~self.has_steps[known]
        rank = np.where(without_steps, 1.0, -np.abs(self.steps[known]))
        order = np.lexsort((-self.size[known], rank, ~self.is_clear[known]))
        return int(known[order[0]])

    def get_difference(self, column: int) -> ValueDifference:
        """Return the difference of a column that is known."""
        steps = float(self.steps[column]) if self.has_steps[column] else None
        ratio = float(self.ratio[column])
        return ValueDifference(
            self.before.get_summary(column),
            self.after.get_summary(column),
            steps,
            None if math.isnan(ratio) else ratio,
            bool(self.is_clear[column]),
            (1.0 if steps is None else -abs(steps), -float(self.size[column])),
        )


def compare_columns(before: Float, after: Float, unit: str) -> ColumnDifferences:
    """Compare the values [n, k] and [m, k] of k series in two ranges, in the order of time; NaN is no data."""
    sides = [_compact_columns(values) for values in (before, after)]
    first, second = (_summarize_columns(values) for values in sides)
    least = MIN_STEP.get(unit, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        change = second.mean - first.mean
        smallest = np.maximum(least, MIN_SHARE * np.abs(first.mean))
        ratio = np.where(np.abs(first.mean) > least, second.mean / first.mean, np.nan)
        # Differences that reach the limit in steps are ordered by their size in the unit.
        size = np.where(change == 0, 0.0, np.abs(change) / smallest)
        step = np.maximum(_compute_spreads(sides[0], first.n), smallest)
        steps = np.clip(np.where(change == 0, 0.0, change / step), -MAX_STEPS, MAX_STEPS)
        error = np.hypot(
            *(_compute_standard_errors(*side) for side in zip(sides, (first, second), strict=True))
        )
        is_clear = (np.abs(steps) >= 1) & (np.abs(change) > STANDARD_ERRORS * error)
    fewest = np.minimum(first.n, second.n)
    has_steps = fewest >= MIN_VALUES
    return ColumnDifferences(
        before=first,
        after=second,
        is_known=fewest > 0,
        has_steps=has_steps,
        steps=np.where(has_steps, steps, np.nan),
        ratio=ratio,
        size=size,
        is_clear=np.where(has_steps, is_clear, size >= 1),
    )


def _compact_columns(values: Float) -> Float:
    """Return columns [n, k] with their known values first, in the same order, and NaN after them."""
    is_known = np.isfinite(values)
    if is_known.all():
        return values
    order = np.argsort(~is_known, axis=0, kind="stable")
    return np.take_along_axis(np.where(is_known, values, np.nan), order, axis=0)


def _summarize_columns(values: Float) -> ColumnSummaries:
    is_known = ~np.isnan(values)
    n = is_known.sum(axis=0)
    total = np.where(is_known, values, 0.0).sum(axis=0)
    mean = total / np.where(n > 0, n, np.nan)
    low = np.where(is_known, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(is_known, values, -np.inf).max(axis=0, initial=-np.inf)
    return ColumnSummaries(n, mean, np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan))


def _compute_spreads(values: Float, n: Int) -> Float:
    """Return spreads in standard deviations; bursts that fill more than 5 % of the time count."""
    ordered = np.sort(values, axis=0)
    low, middle, high = (_take_quantiles(ordered, n, share) for share in (0.05, 0.5, 0.95))
    away = np.sort(np.abs(values - middle), axis=0)
    deviation = _take_quantiles(away, n, 0.5) / _MEDIAN_DEVIATION
    return np.maximum(deviation, (high - low) / _MIDDLE_90)


def _take_quantiles(ordered: Float, n: Int, share: float) -> Float:
    """Return a quantile of each sorted column, interpolated between neighbors; the first n values are known."""
    if len(ordered) == 0:
        return np.full(len(n), np.nan)
    last = np.maximum(n - 1, 0)
    at = share * last
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, last)
    low, high = (np.take_along_axis(ordered, rows[None, :], axis=0)[0] for rows in (below, above))
    quantiles: Float = low + (high - low) * (at - below)
    return quantiles


def _compute_standard_errors(values: Float, summaries: ColumnSummaries) -> Float:
    """Return the standard errors of the means of correlated values."""
    centered = np.nan_to_num(values - summaries.mean)
    total = (centered * centered).sum(axis=0)
    correlation = (centered[1:] * centered[:-1]).sum(axis=0) / np.where(total > 0, total, 1.0)
    correlation = np.clip(correlation, 0.0, _MAX_CORRELATION)
    effective = np.maximum(1.0, summaries.n * (1 - correlation) / (1 + correlation))
    errors: Float = np.sqrt(total / np.maximum(1, summaries.n - 1) / effective)
    return errors
