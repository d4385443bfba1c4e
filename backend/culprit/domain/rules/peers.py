"""How far one host stands out of its peers, for one number."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from culprit.core.peers import OUTLIER_Z, SCALE

#: Modified z-scores need some peers to be one of.
ENOUGH = 5
#: Of fewer peers, twice their median is far.
LEAST_RATIO = 2.0
MOST = 100.0
#: Labels that say what a host is for; peers have the same values in those that it has.
ROLE_LABELS = ("service", "role", "cluster")


def outlying(value: float, peers: Sequence[float]) -> float:
    """How far `value` is beyond what counts as one of them: above 1 it is an outlier, at most 100; 0 without peers."""
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
