"""Estimate the variance of weights within recordings: samples are bursty, so counts vary more than independent ones.

A recording is divided into time slices. The residual of a slice is its weight of a function minus the weight expected
from its exposure. The variance of the sum is computed from the residuals and their correlation over adjacent slices.
Source: Newey and West, "A Simple, Positive Semi-Definite, Heteroskedasticity and Autocorrelation Consistent Covariance
Matrix" (1987).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from collectors.contract import Values
from collectors.profiles.trie import I64
from culprit.domain.profiles.stacks import Mask, ProfileView

SLICES = 16
"""Number of slices of a side: few, so that each is longer than most bursts."""

MIN_SLICES = 8
"""Minimum number of slices of each recording, if a side has many recordings."""

LAGS = 2
"""Maximum lag of correlated residuals in slices, with weights 2/3 and 1/3: bursts of up to a tenth of a recording."""

FREEDOM_SHARE = 1 / (1 + 2 * sum((1 - lag / (LAGS + 1)) ** 2 for lag in range(1, LAGS + 1)))
"""Degrees of freedom of the variance per slice; below 1, because the products of residuals are correlated."""

EXPOSURES = ("share", "cpu", "wall")
"""Exposures of a slice: its weight, its weight without idle CPUs, its seconds."""

Project = Callable[[I64 | Values], Values]


@dataclass(frozen=True, slots=True, eq=False)
class SliceVariance:
    """Variance of the weight of each item over a side, float64 [3, items] by EXPOSURES, and its degrees of freedom."""

    values: Values
    freedom: float


def measure_variance(
    views: Sequence[ProfileView], into: Sequence[I64], idle: Mask, project: Project
) -> SliceVariance | None:
    """Return the variance of the weights of a side, or None if a recording has no times.

    Args:
        views: the recordings of the side.
        into: for each view the merged node of its nodes, int64 [nodes of the view].
        idle: bool [merged nodes].
        project: converts own weights [merged nodes] to the weights of the items.
    """
    if not views or not all(is_timed(view) for view in views):
        return None
    count = max(MIN_SLICES, SLICES // len(views))
    whole = np.zeros(len(idle), np.int64)
    for view, nodes in zip(views, into, strict=True):
        np.add.at(whole, nodes, view.own)
    busy = np.where(idle, 0, whole)
    totals = np.stack([project(whole), project(busy), project(whole)])
    exposure = np.array([whole.sum(), busy.sum(), sum(map(measure_seconds, views))], float)
    rates = totals / np.maximum(exposure, 1e-9)[:, None]
    variance = np.zeros_like(totals)
    plain = np.zeros_like(totals)
    for view, nodes in zip(views, into, strict=True):
        recent: deque[Values] = deque(maxlen=LAGS)
        for own, exposed in _iterate_slices(view, nodes, count, idle):
            here, awake = project(own), project(np.where(idle, 0, own))
            residual = np.stack([here, awake, here]) - rates * np.array(exposed)[:, None]
            plain += residual**2
            for lag, earlier in enumerate(reversed(recent), start=1):
                variance += 2 * (1 - lag / (LAGS + 1)) * residual * earlier
            recent.append(residual)
    slices = count * len(views)
    # A negative correlation would reduce the variance of the sum; it is ignored.
    values = np.maximum(plain, plain + variance) * (slices / (slices - 1))
    return SliceVariance(values, max((slices - 1) * FREEDOM_SHARE, 1.0))


def is_timed(view: ProfileView) -> bool:
    """Return whether the samples of a view have times that span more than an instant."""
    return measure_seconds(view) > 0


def measure_seconds(view: ProfileView) -> float:
    """Return the seconds of the recording within the time filter; 0 without times."""
    table = view.profile.table
    if not table.has_time or len(table) < 2:
        return 0.0
    first, last = _range(view)
    return max(last - first, 0) / 1e9


def _range(view: ProfileView) -> tuple[int, int]:
    t_ns, chosen = view.profile.table.t_ns, view.chosen
    first, last = int(t_ns[0]), int(t_ns[-1]) + 1
    if chosen.from_ns is not None:
        first = max(first, chosen.from_ns)
    if chosen.to_ns is not None:
        last = min(last, chosen.to_ns)
    return first, last


def _iterate_slices(
    view: ProfileView, into: I64, count: int, idle: Mask
) -> Iterator[tuple[I64, tuple[float, float, float]]]:
    """Yield for each slice the own weights [merged nodes], and its exposures."""
    table = view.profile.table
    t_ns, stack, weight = (column[view.rows] for column in (table.t_ns, table.stack, table.weight))
    first, last = _range(view)
    edges = np.searchsorted(t_ns, np.linspace(first, last, count + 1)[1:-1]).tolist()
    seconds = (last - first) / 1e9 / count
    for start, stop in zip([0, *edges], [*edges, len(t_ns)], strict=True):
        own = np.bincount(into[stack[start:stop]], weights=weight[start:stop], minlength=len(idle))
        exact = own.astype(np.int64)
        total = float(own.sum())
        yield exact, (total, total - float(own[idle].sum()), seconds)
