"""Rows with the same value, without sorting them where values are close to each other."""

from __future__ import annotations

import numpy as np

from collectors.profiles.trie import I32, I64

SPAN_MAX = 1 << 24
"""Values within such a range are counted in a table; PIDs of Linux are below 2^22."""


def group_values(values: I32 | I64) -> tuple[I64, I64]:
    """Return the distinct values in ascending order, int64 [groups], and the group of each row, int64 [n]."""
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low = int(values.min())
    if int(values.max()) - low >= SPAN_MAX:
        distinct, group = np.unique(values, return_inverse=True)
        return distinct.astype(np.int64), group.astype(np.int64)
    places = values.astype(np.int64) - low
    is_there = np.zeros(int(places.max()) + 1, np.bool_)
    is_there[places] = True
    return np.flatnonzero(is_there) + low, (np.cumsum(is_there) - 1)[places]
