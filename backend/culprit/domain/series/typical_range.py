"""The typical range at an hour: the median and the range from 10 to 90 % of the same hour on earlier days. Pure.

A day is 24 hours of UTC: the time zone of a service's users is unknown, and every instant then has exactly one
counterpart, also on the days on which clocks are changed. In a zone that changes its clocks the hour moves by one
against the wall for the week after; the half hour on both sides that is taken together softens that.
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
"""The collector name of the same hours of earlier days from a service's Prometheus."""
KIND = "usual_at_this_hour"
"""The kind of the tables that it yields, one for each metric; a row is a route at a time."""
COLUMNS = ("metric", "route", "at", "days", "low", "median", "high", "unit")
RATE, ERRORS = "app.requests_per_s", "app.errors_pct"
METRICS: Mapping[str, tuple[str, str]] = {
    RATE: ("rate", "per_s"),
    ERRORS: ("errors", "pct"),
    **{f"app.{name}_ms": (name, "ms") for name in QUANTILES},
}
"""Metric → the query that it is read from, and its unit."""

DAY_S = 86_400.0
DAYS = 7
"""Number of earlier days to query: each day of the week once, all treated alike."""
MIN_DAYS = 3
"""Fewer days than this give no typical range."""
WINDOW_HALF_S = 1800.0
"""How far from the time of day a value may lie: half an hour, so that an hour is looked at."""
MIN_VALUES = 4
"""A day with fewer values than this within reach was hardly measured, and does not count."""
LOW, MEDIAN, HIGH = 0.1, 0.5, 0.9


@dataclass(frozen=True, slots=True)
class DaySeries:
    """One earlier day, moved by whole days onto the one that is looked at. Shapes [n]; NaN is no data."""

    t_s: Float
    values: Float


@dataclass(frozen=True, slots=True)
class TypicalRange:
    """For each asked time how many days count, and what is usual there: NaN where too few do. Shapes [n]."""

    days: Int
    low: Float
    median: Float
    high: Float


def compute_typical_range(at_s: Float, days: Sequence[DaySeries]) -> TypicalRange:
    """What is usual at each of `at_s`. All values of the days that count are taken together, in no order."""
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
    """From `start_s` in steps to `end_s`, both of them included."""
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
