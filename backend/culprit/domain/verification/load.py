"""Compute how much of a change a change of the load explains, and whether more responses fail after the fix.

A waiting time grows with the load, without bound as the utilization approaches 1. For an open queue with one server it
is proportional to 1 / (1 - utilization) (M/M/1; Kingman's approximation for other arrivals and services has the
same factor). Sources: Kleinrock, "Queueing Systems", volume 1 (1975); Kingman, "The single server queue in heavy
traffic" (1961).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from culprit.domain.verification.windows import Better, MeasurementWindow, list_measured_windows

MAX_LOAD_CHANGE = 0.05
"""Largest change of the load towards the improvement that is subtracted. Beyond it, nothing can be concluded."""

ASSUMED_UTILIZATION = 0.9
"""Assumed utilization of the bottleneck, unless the CPUs are busier: it can be a lock or a disk that is not measured.

Above it, a queue is not stable for minutes: the relaxation time of M/M/1 is 2 / (1 - utilization)^2 service times, 200
at this utilization and 20,000 at 99 %.
"""

MAX_UTILIZATION = 0.99
TAIL_SHARE = 0.01
"""Share of responses above the highest measured percentile (p99)."""

Z_95_BELOW = 1.644854
"""95th percentile of the standard normal distribution."""


def explain_by_load(load_change: float, better: Better, *, divisible: bool, utilization: float) -> float:
    """Return the natural logarithm of the largest ratio (after / before) that this change of the load explains.

    It is `-inf` or `inf` if the load can explain every change in its direction.
    """
    if better == "higher" or divisible:
        return math.log1p(load_change) if load_change > -1 else -math.inf
    busy = min(max(ASSUMED_UTILIZATION, utilization), MAX_UTILIZATION)
    rest = 1 - busy * (1 + load_change)
    return math.log((1 - busy) / rest) if rest > 0 else math.inf


def find_utilization(windows: Sequence[MeasurementWindow]) -> float:
    """Return the highest utilization of the CPUs in these windows, 0 if none is known.

    The caller passes the windows before the fix, because the effect of another load on them is subtracted. CPUs that
    are busy only after the fix are a part of the change.
    """
    known = [item.utilization for item in windows if math.isfinite(item.utilization)]
    return max(known, default=0.0)


def has_more_failures(before: Sequence[MeasurementWindow], after: Sequence[MeasurementWindow]) -> bool:
    """Return whether a significantly larger share of the responses failed after the fix.

    The share must grow by at least a tenth of TAIL_SHARE, the smallest share of failures that can move p99.
    """
    failed_before, total_before = _count_failures(before)
    failed_after, total_after = _count_failures(after)
    if not total_before or not total_after:
        return False
    share_before, share_after = failed_before / total_before, failed_after / total_after
    pooled = (failed_before + failed_after) / (total_before + total_after)
    error = math.sqrt(pooled * (1 - pooled) * (1 / total_before + 1 / total_after))
    rise = share_after - share_before
    return rise >= TAIL_SHARE / 10 and rise > Z_95_BELOW * error


def _count_failures(side: Sequence[MeasurementWindow]) -> tuple[float, float]:
    known = [
        item
        for item in list_measured_windows(side)
        if math.isfinite(item.failed) and math.isfinite(item.responses)
    ]
    return (
        float(np.sum([item.failed * item.responses for item in known])),
        float(np.sum([item.responses for item in known])),
    )
