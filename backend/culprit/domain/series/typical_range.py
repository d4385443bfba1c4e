"""Compute the typical range: median and 10th to 90th percentile of the same hour on earlier days. Without I/O.

A day is 24 hours of UTC, because the time zone of a service's users is unknown. Every instant has exactly one
counterpart, also on days with a clock change. In a time zone with daylight saving time, the local hour is shifted by
one hour in the week after a change; the window of half an hour on both sides reduces that effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collectors.parse.reports.prometheus_import import QUANTILES

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

PROM_TYPICAL = "prom_typical"
"""The collector that reads the same hours of earlier days from a service's Prometheus."""
KIND = "usual_at_this_hour"
"""The kind of its tables, one for each metric; a row is a route at a time."""
COLUMNS = ("metric", "route", "at", "days", "low", "median", "high", "unit")
RATE, ERRORS = "app.requests_per_s", "app.errors_pct"
METRICS: Mapping[str, tuple[str, str]] = {
    RATE: ("rate", "per_s"),
    ERRORS: ("errors", "pct"),
    **{f"app.{name}_ms": (name, "ms") for name in QUANTILES},
}
"""{metric: (query, unit)}."""

DAY_S = 86_400.0
DAYS = 7
"""Number of earlier days to query: each day of the week once, with equal weight."""
MIN_DAYS = 3
"""Minimum number of days for a typical range."""
WINDOW_HALF_S = 1800.0
"""Half the length of the window around a time of day: half an hour, so that the window is an hour."""
MIN_VALUES = 4
"""Minimum number of values in the window; a day with fewer does not count."""
LOW, MEDIAN, HIGH = 0.1, 0.5, 0.9


@dataclass(frozen=True, slots=True)
class DaySeries:
    """Values of an earlier day, with times shifted by whole days to the current one. Shapes [n]; NaN is no data."""

    t_s: Float
    values: Float


@dataclass(frozen=True, slots=True)
class TypicalRange:
    """The number of days that count and the typical range at each time, [n]; NaN with fewer than MIN_DAYS days."""

    days: Int
    low: Float
    median: Float
    high: Float


def compute_typical_range(at_s: Float, days: Sequence[DaySeries]) -> TypicalRange:
    """Return the typical range at each time of `at_s`. The values of all days that count are pooled."""
    complete_days = [_drop_missing(day) for day in days]
    counts = np.zeros(len(at_s), np.int64)
    bands = np.full((3, len(at_s)), np.nan)
    for i, at in enumerate(at_s.tolist()):
        near = [_select_near(day, at) for day in complete_days]
        near = [values for values in near if len(values) >= MIN_VALUES]
        counts[i] = len(near)
        if len(near) >= MIN_DAYS:
            bands[:, i] = np.quantile(np.concatenate(near), (LOW, MEDIAN, HIGH))
    return TypicalRange(counts, *bands)


def list_instants(start_s: float, end_s: float, step_s: float) -> Float:
    """Return the times from `start_s` to `end_s` in steps, including both ends."""
    steps = start_s + step_s * np.arange(max(1, int((end_s - start_s) / step_s) + 1))
    inner = steps[steps < end_s]
    return np.append(inner, end_s) if len(inner) else np.array([start_s])


def _drop_missing(day: DaySeries) -> DaySeries:
    keep = np.isfinite(day.values) & np.isfinite(day.t_s)
    order = np.argsort(day.t_s[keep], kind="stable")
    return DaySeries(day.t_s[keep][order], day.values[keep][order])


def _select_near(day: DaySeries, at: float) -> Float:
    first = np.searchsorted(day.t_s, at - WINDOW_HALF_S, "left")
    return day.values[first : np.searchsorted(day.t_s, at + WINDOW_HALF_S, "right")]
