"""Did the fix work? The same number before and after, judged by an interval against a bar.

Seconds of one capture are not independent, and captures differ from each other by more than their seconds do. So a
side is several captures (windows), each cut into blocks; the spread of a side's mean is the larger of what its blocks
and what its windows say. A window that is a single block (a number of which a capture has one) says nothing of its own
spread: of those a side needs more.

Four outcomes: `verified` and `worse` where the whole interval is on one side of nothing and the change is at least the
bar, `no_effect` where the whole interval lies within the bar, `no_conclusion` else, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from collectors.contract import Sentence, Values
from culprit.core.intervals import student

Outcome = Literal["verified", "worse", "no_effect", "no_conclusion"]
Better = Literal["lower", "higher"]

MIN_WINDOWS = 3
MIN_SINGLE = 5
"""Windows of one block each that a side needs: of 3 and 3, dealt out by chance, every tenth split differs as much."""

BLOCK_S = 5
"""Readings (one a second) of one block: longer than what makes one second like the next in the series that we store."""
MAX_LOAD_CHANGE = 0.2
CONFIDENCE = 0.95
MAX_PERMUTATIONS = 5000
DEFAULT_BAR = 0.1


@dataclass(frozen=True, slots=True)
class Window:
    """One capture of the primary number: `values` [n], as a rule one a second, NaN = no data.

    `block` is how many of them count as one observation. `load` is the work that was done meanwhile, per second
    (answers that were good, not those that were asked for); NaN where nobody counts it.
    """

    values: Values
    load: float
    block: int = BLOCK_S


@dataclass(frozen=True, slots=True)
class Judged:
    """The outcome, and what it rests on.

    `change` is relative: -0.2 fell by a fifth; `low` and `high` are its 95 % interval; `p` is how often a split of the
    same blocks by chance differs as much; `per_work` says that the number was divided by the load first.
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


def judge(
    before: Sequence[Window],
    after: Sequence[Window],
    better: Better,
    *,
    bar: float = DEFAULT_BAR,
    floor: float = 0.0,
    divisible: bool = False,
    control: tuple[Sequence[Window], Sequence[Window]] | None = None,
) -> Judged:
    """The outcome of a fix.

    `bar` is the smallest relative change that matters. `floor` is the smallest value that matters: below it, changes
    are measured against it. `divisible` says that the number grows with the work (CPU seconds, reads) and may be told
    per unit of it where the load differs; else only what the load cannot have done is told. `control` is an unchanged
    peer, before and after at the same times: what changed there is taken off.
    """
    sides = [before, after, *(control or ())]
    least = max(least_windows(side) for side in sides)
    if any(len(whole(side)) < least for side in sides):
        return none("few_windows", least=least)
    loads = [load_of(side) for side in sides]
    if any(math.isnan(load) for load in loads):
        return none("load_unknown")
    load_change = relative(loads[0], loads[1])
    unlike = abs(load_change) > MAX_LOAD_CHANGE or (
        control is not None and abs(relative(loads[2], loads[3])) > MAX_LOAD_CHANGE
    )
    per_work = unlike and divisible and all(load > 0 for load in loads)
    if unlike and not per_work:
        if control is not None:
            told = load_change if abs(load_change) > MAX_LOAD_CHANGE else relative(loads[2], loads[3])
            return none("unlike_load", load_change, percent=_percent(told))
        return _in_spite(before, after, better, bar, floor, load_change)
    made = [_side(side, per_work=per_work) for side in sides]
    scale = max(abs(made[0].mean), floor / (loads[0] if per_work else 1.0))
    if scale <= 0:
        return none("nothing_before", load_change)
    change, low, high = _interval(made[0], made[1], scale)
    if control is not None:
        base = max(abs(made[2].mean), floor / (loads[2] if per_work else 1.0))
        if base <= 0:
            return none("nothing_before", load_change)
        there, there_low, there_high = _interval(made[2], made[3], base)
        half = math.hypot((high - low) / 2, (there_high - there_low) / 2)
        change -= there
        low, high = change - half, change + half
    p = _by_chance(made[0].blocks, made[1].blocks) if control is None else math.nan
    outcome, reason = settle(change, low, high, p, better, bar)
    return Judged(outcome, change, low, high, p, load_change, per_work, reason)


def _in_spite(  # noqa: PLR0917
    before: Sequence[Window],
    after: Sequence[Window],
    better: Better,
    bar: float,
    floor: float,
    load_change: float,
) -> Judged:
    """What can be told although the load differs: more work makes no ill number better, nor less work one worse.

    A fix that lets requests through again raises what is answered well; that is no reason to conclude nothing.
    """
    made = [_side(side, per_work=False) for side in (before, after)]
    scale = max(abs(made[0].mean), floor)
    unlike = none("unlike_load", load_change, percent=_percent(load_change))
    if scale <= 0:
        return unlike
    change, low, high = _interval(made[0], made[1], scale)
    p = _by_chance(made[0].blocks, made[1].blocks)
    outcome, _ = settle(change, low, high, p, better, bar)
    if outcome != ("verified" if load_change > 0 else "worse"):
        return unlike
    reason = Sentence("verify.in_spite_of_load", {"percent": _percent(load_change)})
    return Judged(outcome, change, low, high, p, load_change, False, reason)


def settle(  # noqa: PLR0917
    change: float, low: float, high: float, p: float, better: Better, bar: float
) -> tuple[Outcome, Sentence | None]:
    """What a change and its interval mean against the bar; a reason where nothing can be concluded."""
    if -bar < low and high < bar:
        return "no_effect", None
    if (low > 0 or high < 0) and abs(change) >= bar and not p > 1 - CONFIDENCE:
        return ("verified" if (change < 0) == (better == "lower") else "worse"), None
    return "no_conclusion", Sentence("verify.too_wide", {"bar": round(100 * bar)})


def least_windows(side: Sequence[Window]) -> int:
    """How many windows this side needs."""
    return MIN_SINGLE if any(blocks_of(one) == 1 for one in whole(side)) else MIN_WINDOWS


def blocks_of(window: Window) -> int:
    """Whole blocks of readings that the window holds."""
    return int(np.isfinite(window.values).sum()) // window.block


def whole(side: Sequence[Window]) -> list[Window]:
    """Windows with enough readings for a block."""
    return [one for one in side if blocks_of(one)]


def load_of(side: Sequence[Window]) -> float:
    """The mean load of the windows that count; NaN where one of them has none."""
    return float(np.mean([one.load for one in whole(side)]))


def relative(before: float, after: float) -> float:
    """The relative change; infinite where there was nothing before."""
    return (after - before) / before if before else (0.0 if after == before else math.inf)


def _percent(share: float) -> int | str:
    return round(100 * share) if math.isfinite(share) else "∞"


def _side(side: Sequence[Window], *, per_work: bool) -> _Side:
    windows = []
    for one in whole(side):
        values = one.values[np.isfinite(one.values)]
        blocks = np.array([chunk.mean() for chunk in np.array_split(values, blocks_of(one))])
        windows.append(blocks / one.load if per_work else blocks)
    means = np.array([blocks.mean() for blocks in windows])
    blocks = np.concatenate(windows)
    within = float(blocks.var(ddof=1)) / len(blocks) if len(blocks) > 1 else math.inf
    between = float(means.var(ddof=1)) / len(means)
    # The larger of the two, with the freedom of the one that is taken.
    variance, freedom = max((within, len(blocks) - 1.0), (between, len(means) - 1.0))
    return _Side(float(means.mean()), variance, freedom, blocks)


def _interval(before: _Side, after: _Side, scale: float) -> tuple[float, float, float]:
    """Relative change and its interval, by Welch's t."""
    change = (after.mean - before.mean) / scale
    total = before.variance + after.variance
    if total <= 0:
        return change, change, change
    freedom = total**2 / (before.variance**2 / before.freedom + after.variance**2 / after.freedom)
    half = student(CONFIDENCE, max(freedom, 1.0)) * math.sqrt(total) / scale
    return change, change - half, change + half


def _by_chance(before: Values, after: Values) -> float:
    """How often blocks that are dealt out by chance differ as much as these do; all ways, or 5000 drawn ones."""
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


def none(key: str, load_change: float = math.nan, **params: str | int | float) -> Judged:
    """No conclusion, because of `verify.<key>`."""
    reason = Sentence(f"verify.{key}", params)
    return Judged("no_conclusion", math.nan, math.nan, math.nan, math.nan, load_change, False, reason)
