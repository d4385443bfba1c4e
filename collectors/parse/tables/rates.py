"""From counters to rates: what was counted between two readings, by the time that really passed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from collectors.contract import Values

WRAP_32 = float(1 << 32)
_NS = 1e9


def compute_deltas(counters: Values, wrap: float | None = None) -> Values:
    """Differences of consecutive rows: [n, k] → [n - 1, k].

    A counter that went down was reset (or its owner was replaced): NaN, because the loss is unknown.
    With `wrap`, a counter that fell from the upper half of its range to the lower half has wrapped instead.
    NaN on either side gives NaN.
    """
    with np.errstate(invalid="ignore"):
        before, after = counters[:-1], counters[1:]
        out = after - before
        if wrap is not None:
            wrapped = (out < 0) & (before >= wrap / 2) & (after < wrap / 2) & (before < wrap)
            out = np.where(wrapped, out + wrap, out)
        return np.where(out < 0, np.nan, out)


def compute_elapsed_s(boot_ns: npt.NDArray[np.int64]) -> Values:
    """Seconds between consecutive readings, [n] → [n - 1]; NaN where time stood still."""
    spans = np.diff(boot_ns).astype(np.float64) / _NS
    return np.where(spans > 0, spans, np.nan)


def compute_rates(boot_ns: npt.NDArray[np.int64], counters: Values, wrap: float | None = None) -> Values:
    """Rates of counters [n, k] read at `boot_ns` [n]: [n - 1, k], one row for each interval, at its end."""
    return compute_deltas(counters, wrap) / compute_elapsed_s(boot_ns)[:, None]


def compute_share_pct(part: Values, total: Values) -> Values:
    """100 * part / total; NaN where the total is zero, because a share of nothing is no data."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, 100.0 * part / total, np.nan)
