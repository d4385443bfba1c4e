"""Group rows by value, without a sort if the range of values is small."""

from __future__ import annotations

import numpy as np

from collectors.profiles.trie import I32, I64

SPAN_MAX = 1 << 24
"""Values within a smaller range are counted in a lookup table; PIDs of Linux are below 2^22."""


def group_values(values: I32 | I64) -> tuple[I64, I64]:
    """Return the distinct values in ascending order, int64 [groups], and the group of each row, int64 [n]."""
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low = int(values.min())
    if int(values.max()) - low >= SPAN_MAX:
        distinct, group = np.unique(values, return_inverse=True)
        return distinct.astype(np.int64), group.astype(np.int64)
    offsets = values.astype(np.int64) - low
    is_present = np.zeros(int(offsets.max()) + 1, np.bool_)
    is_present[offsets] = True
    return np.flatnonzero(is_present) + low, (np.cumsum(is_present) - 1)[offsets]
