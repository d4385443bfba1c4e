"""What a change of the load explains of a change of the number, and whether the service fails instead of answering.

A waiting time grows with the load, without bound when the utilization nears one. For an open queue with one server it
is proportional to 1 / (1 - utilization) (M/M/1; Kingman's approximation for other arrivals and services has the
same factor). Sources: Kleinrock, "Queueing Systems", volume 1 (1975); Kingman, "The single server queue in heavy
traffic" (1961).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from culprit.domain.verification.windows import Better, MeasurementWindow, measured_windows

MAX_LOAD_CHANGE = 0.05
"""Largest change of the load towards the improvement that is subtracted. Beyond it, nothing can be concluded."""

ASSUMED_UTILIZATION = 0.9
"""Utilization of the bottleneck, unless the CPUs are busier: what is slow may be a lock or a disk that is not measured.

Above it a queue is not stable for minutes: its length forgets its past after 2 / (1 - utilization)^2 service times
(relaxation time of M/M/1), 200 of them here, and 20,000 at 99 %.
"""

MAX_UTILIZATION = 0.99
DEEPEST_TAIL = 0.01
"""Share of responses that the deepest measured percentile (p99) leaves out."""

Z_95_BELOW = 1.644854
"""Standard deviations that 95 % of a normal distribution are below."""


def explain_by_load(load_change: float, better: Better, *, divisible: bool, utilization: float) -> float:
    """Return the natural logarithm of the ratio (after / before) that this change of the load explains at most.

    `-inf` or `inf` where the load can explain every change in its direction.
    """
    if better == "higher" or divisible:
        return math.log1p(load_change) if load_change > -1 else -math.inf
    busy = min(max(ASSUMED_UTILIZATION, utilization), MAX_UTILIZATION)
    rest = 1 - busy * (1 + load_change)
    return math.log((1 - busy) / rest) if rest > 0 else math.inf


def find_utilization(windows: Sequence[MeasurementWindow]) -> float:
    """Return the greatest utilization of the CPUs in these windows, 0 where none is known.

    Of the windows before: what another load would have done to them is subtracted. CPUs that are busy only afterwards
    are a part of the change.
    """
    known = [item.utilization for item in windows if math.isfinite(item.utilization)]
    return max(known, default=0.0)


def has_more_failures(before: Sequence[MeasurementWindow], after: Sequence[MeasurementWindow]) -> bool:
    """Return whether a larger share of the responses failed after the fix, beyond chance.

    A tenth of what the deepest percentile leaves out is the smallest share of failures that can move it.
    """
    failed_before, total_before = _count_failures(before)
    failed_after, total_after = _count_failures(after)
    if not total_before or not total_after:
        return False
    share_before, share_after = failed_before / total_before, failed_after / total_after
    pooled = (failed_before + failed_after) / (total_before + total_after)
    error = math.sqrt(pooled * (1 - pooled) * (1 / total_before + 1 / total_after))
    rise = share_after - share_before
    return rise >= DEEPEST_TAIL / 10 and rise > Z_95_BELOW * error


def _count_failures(side: Sequence[MeasurementWindow]) -> tuple[float, float]:
    known = [
        item
        for item in measured_windows(side)
        if math.isfinite(item.failed) and math.isfinite(item.responses)
    ]
    return (
        float(np.sum([item.failed * item.responses for item in known])),
        float(np.sum([item.responses for item in known])),
    )
