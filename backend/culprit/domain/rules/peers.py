"""Compare one number of a host with its peers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from culprit.domain.statistics.outliers import OUTLIER_Z, SCALE

#: Modified z-scores need a minimum number of peers.
ENOUGH = 5
#: With fewer peers, twice their median is an outlier.
LEAST_RATIO = 2.0
MOST = 100.0
#: Labels that state the purpose of a host; peers have equal values.
ROLE_LABELS = ("service", "role", "cluster")


def score_outlier(value: float, peers: Sequence[float]) -> float:
    """Return how far `value` is beyond the normal range of its peers: above 1 is an outlier, at most 100; 0
    without peers.
    """
    if not peers:
        return 0.0
    median = float(np.median(peers))
    if len(peers) >= ENOUGH:
        mad = float(np.median(np.abs(np.array(peers) - median)))
        z = SCALE * abs(value - median) / mad if mad > 0 else (math.inf if value != median else 0.0)
        return min(z / OUTLIER_Z, MOST)
    low, high = sorted((abs(value), abs(median)))
    spread = max(peers) - min(peers)
    if high < 1e-9 or abs(value - median) <= 2 * spread:
        return 0.0
    return min(high / low / LEAST_RATIO, MOST) if low > 0 else MOST
