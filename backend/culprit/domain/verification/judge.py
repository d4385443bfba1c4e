"""Judge a fix: the same number before and after, by an interval and a minimum change.

Seconds of one capture are not independent, and captures differ more than their seconds. So a side has several captures
(windows), each cut into blocks. The variance of a side is the larger of that between its blocks and that between its
windows. A window of a single block (a number that a capture has once) has no variance of its own, so such a side needs
more windows.

Outcomes: `verified` and `worse` if the interval does not contain zero and the change is at least the minimum change;
`no_effect` if the interval is within the minimum change; else `no_conclusion` with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from collectors.contract import Sentence, Values
from culprit.domain.statistics.intervals import student_quantile

Outcome = Literal["verified", "worse", "no_effect", "no_conclusion"]
Better = Literal["lower", "higher"]

MIN_WINDOWS = 3
MIN_SINGLE = 5
"""Windows of one block that a side needs: with 3 and 3, every tenth random split is as extreme."""

BLOCK_S = 5
"""Readings (one per second) of a block: longer than the autocorrelation of the stored series."""
MAX_LOAD_CHANGE = 0.2
CONFIDENCE = 0.95
MAX_PERMUTATIONS = 5000
DEFAULT_MINIMUM_CHANGE = 0.1


@dataclass(frozen=True, slots=True)
class MeasurementWindow:
    """One capture of the primary number: `values` float64 [n], usually one per second, NaN = no data.

    `block` is the number of values that count as one observation. `load` is the work done in that time, per second
    (successful responses, not requests); NaN if unknown.
    """

    values: Values
    load: float
    block: int = BLOCK_S


@dataclass(frozen=True, slots=True)
class Judgment:
    """The outcome and its numbers.

    `change` is relative: -0.2 is a decrease by a fifth; `low` and `high` are its 95 % interval. `p` is the share of
    random splits of the same blocks that differ as much. `per_work`: the number was divided by the load first.
    """

    outcome: Outcome
    change: float
    low: float
    high: float
    p: float
    load_change: float
    per_work: bool
    reason: Sentence | None = None


@dataclass(frozen=True, slots=True)
class _Side:
    mean: float
    variance: float
    freedom: float
    blocks: Values


def judge_windows(
    before: Sequence[MeasurementWindow],
    after: Sequence[MeasurementWindow],
    better: Better,
    *,
    minimum_change: float = DEFAULT_MINIMUM_CHANGE,
    floor: float = 0.0,
    divisible: bool = False,
    control: tuple[Sequence[MeasurementWindow], Sequence[MeasurementWindow]] | None = None,
) -> Judgment:
    """Judge a fix.

    Args:
        minimum_change: The smallest relevant relative change.
        floor: The smallest relevant value. Below it, changes are relative to it.
        divisible: The number grows with the work (CPU seconds, reads) and can be compared per unit of work if the load
            differs. Otherwise only a change against the effect of the load is judged.
        control: An unchanged peer before and after at the same times. Its change is subtracted.
    """
    sides = [before, after, *(control or ())]
    least = max(required_windows(side) for side in sides)
    if any(len(measured_windows(side)) < least for side in sides):
        return no_conclusion("few_windows", least=least)
    loads = [mean_load(side) for side in sides]
    if any(math.isnan(load) for load in loads):
        return no_conclusion("load_unknown")
    load_change = relative_change(loads[0], loads[1])
    unlike = abs(load_change) > MAX_LOAD_CHANGE or (
        control is not None and abs(relative_change(loads[2], loads[3])) > MAX_LOAD_CHANGE
    )
    per_work = unlike and divisible and all(load > 0 for load in loads)
    if unlike and not per_work:
        if control is not None:
            reported_load_change = (
                load_change if abs(load_change) > MAX_LOAD_CHANGE else relative_change(loads[2], loads[3])
            )
            return no_conclusion("unlike_load", load_change, percent=_percent(reported_load_change))
        return _judge_despite_load(before, after, better, minimum_change, floor, load_change)
    new_sides = [_side(side, per_work=per_work) for side in sides]
    scale = max(abs(new_sides[0].mean), floor / (loads[0] if per_work else 1.0))
    if scale <= 0:
        return no_conclusion("nothing_before", load_change)
    change, low, high = _interval(new_sides[0], new_sides[1], scale)
    if control is not None:
        base = max(abs(new_sides[2].mean), floor / (loads[2] if per_work else 1.0))
        if base <= 0:
            return no_conclusion("nothing_before", load_change)
        there, there_low, there_high = _interval(new_sides[2], new_sides[3], base)
        half = math.hypot((high - low) / 2, (there_high - there_low) / 2)
        change -= there
        low, high = change - half, change + half
    p = _permutation_test(new_sides[0].blocks, new_sides[1].blocks) if control is None else math.nan
    outcome, reason = decide_outcome(change, low, high, p, better, minimum_change)
    return Judgment(outcome, change, low, high, p, load_change, per_work, reason)


def _judge_despite_load(  # noqa: PLR0917
    before: Sequence[MeasurementWindow],
    after: Sequence[MeasurementWindow],
    better: Better,
    minimum_change: float,
    floor: float,
    load_change: float,
) -> Judgment:
    """Judge a change against the effect of the load: more load cannot improve a number, less load cannot worsen it.

    A fix that allows more requests raises the load; this is no reason for no conclusion.
    """
    befores = [_side(side, per_work=False) for side in (before, after)]
    scale = max(abs(befores[0].mean), floor)
    unlike = no_conclusion("unlike_load", load_change, percent=_percent(load_change))
    if scale <= 0:
        return unlike
    change, low, high = _interval(befores[0], befores[1], scale)
    p = _permutation_test(befores[0].blocks, befores[1].blocks)
    outcome, _ = decide_outcome(change, low, high, p, better, minimum_change)
    if outcome != ("verified" if load_change > 0 else "worse"):
        return unlike
    reason = Sentence("verify.despite_load", {"percent": _percent(load_change)})
    return Judgment(outcome, change, low, high, p, load_change, False, reason)


def decide_outcome(  # noqa: PLR0917
    change: float, low: float, high: float, p: float, better: Better, minimum_change: float
) -> tuple[Outcome, Sentence | None]:
    """Return the outcome of a change and its interval, with a reason for no conclusion."""
    if -minimum_change < low and high < minimum_change:
        return "no_effect", None
    if (low > 0 or high < 0) and abs(change) >= minimum_change and not p > 1 - CONFIDENCE:
        return ("verified" if (change < 0) == (better == "lower") else "worse"), None
    return "no_conclusion", Sentence("verify.too_wide", {"minimum_change": round(100 * minimum_change)})


def required_windows(side: Sequence[MeasurementWindow]) -> int:
    """Return how many windows a side needs."""
    return MIN_SINGLE if any(count_blocks(item) == 1 for item in measured_windows(side)) else MIN_WINDOWS


def count_blocks(window: MeasurementWindow) -> int:
    """Count the complete blocks of a window."""
    return int(np.isfinite(window.values).sum()) // window.block


def measured_windows(side: Sequence[MeasurementWindow]) -> list[MeasurementWindow]:
    """Return the windows with at least one block."""
    return [item for item in side if count_blocks(item)]


def mean_load(side: Sequence[MeasurementWindow]) -> float:
    """Return the mean load of the measured windows; NaN if one of them has none."""
    return float(np.mean([item.load for item in measured_windows(side)]))


def relative_change(before: float, after: float) -> float:
    """Return the relative change; infinite if the value before is zero."""
    return (after - before) / before if before else (0.0 if after == before else math.inf)


def _percent(share: float) -> int | str:
    return round(100 * share) if math.isfinite(share) else "∞"


def _side(side: Sequence[MeasurementWindow], *, per_work: bool) -> _Side:
    windows = []
    for item in measured_windows(side):
        values = item.values[np.isfinite(item.values)]
        blocks = np.array([chunk.mean() for chunk in np.array_split(values, count_blocks(item))])
        windows.append(blocks / item.load if per_work else blocks)
    means = np.array([blocks.mean() for blocks in windows])
    blocks = np.concatenate(windows)
    within = float(blocks.var(ddof=1)) / len(blocks) if len(blocks) > 1 else math.inf
    between = float(means.var(ddof=1)) / len(means)
    # The larger variance, with its degrees of freedom.
    variance, freedom = max((within, len(blocks) - 1.0), (between, len(means) - 1.0))
    return _Side(float(means.mean()), variance, freedom, blocks)


def _interval(before: _Side, after: _Side, scale: float) -> tuple[float, float, float]:
    """Return the relative change and its interval, by Welch's t."""
    change = (after.mean - before.mean) / scale
    total = before.variance + after.variance
    if total <= 0:
        return change, change, change
    freedom = total**2 / (before.variance**2 / before.freedom + after.variance**2 / after.freedom)
    half = student_quantile(CONFIDENCE, max(freedom, 1.0)) * math.sqrt(total) / scale
    return change, change - half, change + half


def _permutation_test(before: Values, after: Values) -> float:
    """Return the share of splits of the blocks that differ as much: all splits, or 5000 random ones."""
    pool = np.concatenate([before, after])
    seen = abs(after.mean() - before.mean())
    count, total = len(before), len(pool)
    if math.comb(total, count) <= MAX_PERMUTATIONS:
        chosen = np.array(list(combinations(range(total), count)))
    else:
        rng = np.random.default_rng(0)
        chosen = np.argsort(rng.random((MAX_PERMUTATIONS, total)), axis=1)[:, :count]
    left = pool[chosen].mean(axis=1)
    right = (pool.sum() - left * count) / (total - count)
    return float((np.abs(right - left) >= seen - 1e-12).mean())


def no_conclusion(key: str, load_change: float = math.nan, **params: str | int | float) -> Judgment:
    """Return no conclusion with the reason `verify.<key>`."""
    reason = Sentence(f"verify.{key}", params)
    return Judgment("no_conclusion", math.nan, math.nan, math.nan, math.nan, load_change, False, reason)
