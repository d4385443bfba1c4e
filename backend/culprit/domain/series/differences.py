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
    first, second = summarize_values(before), summarize_values(after)
    if first is None or second is None:
        return None
    change = second.mean - first.mean
    least = MIN_STEP.get(unit, 0.0)
    smallest = max(least, MIN_SHARE * abs(first.mean))
    ratio = second.mean / first.mean if abs(first.mean) > least else None
    # Differences that reach the limit in steps are ordered by their size in the unit.
    size = abs(change) / smallest if smallest else (math.inf if change else 0.0)
    if min(first.n, second.n) < MIN_VALUES:
        return ValueDifference(first, second, None, ratio, size >= 1, (1.0, -size))
    known_before, known_after = before[np.isfinite(before)], after[np.isfinite(after)]
    step = max(_compute_spread(known_before), smallest)
    steps = change / step if step else math.copysign(math.inf, change) if change else 0.0
    steps = max(-MAX_STEPS, min(steps, MAX_STEPS))
    error = math.hypot(_compute_standard_error(known_before), _compute_standard_error(known_after))
    is_clear = abs(steps) >= 1 and abs(change) > STANDARD_ERRORS * error
    return ValueDifference(first, second, steps, ratio, is_clear, (-abs(steps), -size))


def _compute_spread(values: Float) -> float:
    """Return the spread in standard deviations; bursts that fill more than 5 % of the time count."""
    low, middle, high = np.quantile(values, (0.05, 0.5, 0.95))
    deviation = float(np.median(np.abs(values - middle))) / _MEDIAN_DEVIATION
    return max(deviation, float(high - low) / _MIDDLE_90)


def _compute_standard_error(values: Float) -> float:
    """Return the standard error of the mean of correlated values."""
    centered = values - values.mean()
    total = float(centered @ centered)
    if total == 0:
        return 0.0
    correlation = float(centered[1:] @ centered[:-1]) / total
    correlation = max(0.0, min(correlation, _MAX_CORRELATION))
    n = len(values)
    effective = max(1.0, n * (1 - correlation) / (1 + correlation))
    return math.sqrt(total / max(1, n - 1) / effective)
