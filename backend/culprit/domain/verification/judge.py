"""Judge a fix: the same number before and after, by an interval and a minimum change.

Readings are correlated over minutes, because of neighbors, caches and drifting load. The interval is therefore that of
`statistics.correlated`, over blocks of a few seconds of all windows with their times: a change between two sides must
be larger than the variation of the number without a fix over the same time. A shift that happens just between the sides
cannot be distinguished from the fix at all, so the sides must be observed for long enough, or alternate.

Outcomes: `verified` and `worse` if the whole interval is beyond zero and beyond the effect of a load change, and
the remaining change is at least the minimum change; `no_effect` if the interval is within the minimum change; else
`no_conclusion` with the reason. All changes are ratios, so an interval never leaves [-100 %, infinity).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from collectors.contract import Sentence
from culprit.domain.statistics.correlated import LevelEstimate, estimate_levels
from culprit.domain.verification.load import (
    MAX_LOAD_CHANGE,
    explain_by_load,
    find_utilization,
    has_more_failures,
)
from culprit.domain.verification.windows import (
    Better,
    BlockSeries,
    MeasurementWindow,
    TimelineGaps,
    build_blocks,
    compute_mean_load,
    compute_relative_change,
    compute_required_observation_s,
    count_required_windows,
    list_measured_windows,
    measure_gaps,
    subtract_control,
)

Outcome = Literal["verified", "worse", "no_effect", "no_conclusion"]

CONFIDENCE = 0.99
CHANCE_OF_SHIFT = 0.04
"""Allowed probability that a shift of the number, in either direction, is between the sides."""

DEFAULT_MINIMUM_CHANGE = 0.1


@dataclass(frozen=True, slots=True)
class Judgment:
    """The outcome and its numbers.

    `change` is relative: -0.2 is a decrease by a fifth; `low` and `high` are its interval. `p` is the probability of a
    change at least as large, in either direction, without a fix. `per_work`: the number was divided by the load first.
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
class RatioEstimate:
    """The ratio after / before with its interval and its p-value."""

    ratio: float
    low: float
    high: float
    p: float
    per_work: bool = False


def judge_windows(
    before: Sequence[MeasurementWindow],
    after: Sequence[MeasurementWindow],
    better: Better,
    *,
    minimum_change: float = DEFAULT_MINIMUM_CHANGE,
    divisible: bool = False,
    control: tuple[Sequence[MeasurementWindow], Sequence[MeasurementWindow]] | None = None,
) -> Judgment:
    """Judge a fix.

    Args:
        before: Windows without the fix; some of them may be later than `after`, where the fix was rolled back.
        after: Windows with the fix.
        better: The direction of an improvement.
        minimum_change: The smallest relevant relative change.
        divisible: The number grows with the work (CPU seconds, reads) and can be compared per unit of work if the load
            differs. Otherwise only a change against the effect of the load is judged.
        control: An unchanged peer before and after at the same times. Each reading is divided by its reading.
    """
    sides = [before, after, *(control or ())]
    least = max(count_required_windows(side) for side in sides)
    if any(len(list_measured_windows(side)) < least for side in sides):
        return build_inconclusive("few_windows", least=least)
    loads = [compute_mean_load(side) for side in sides]
    if any(math.isnan(load) for load in loads):
        return build_inconclusive("load_unknown")
    load_change = compute_relative_change(loads[0], loads[1])
    if control is not None:
        peer_change = compute_relative_change(loads[2], loads[3])
        if abs(peer_change) > MAX_LOAD_CHANGE:
            return build_inconclusive("unlike_load", load_change, percent=format_percent(peer_change))
    refusal = refuse_gap(before, after, load_change, hosts=len(sides) // 2)
    if refusal is not None:
        return refusal
    blocks = build_blocks(before, after)
    if control is not None:
        peer = build_blocks(*control)
        compared = subtract_control(blocks, peer) if (peer.values > 0).all() else None
        if compared is None:
            return build_inconclusive("control_elsewhere", load_change)
        blocks = compared
    gate = LoadGate(load_change, better, divisible, find_utilization(before))
    judged = _judge_blocks(blocks, gate, minimum_change)
    if judged.outcome == "verified" and has_more_failures(before, after):
        return replace(judged, outcome="no_conclusion", reason=Sentence("verify.failing_fast"))
    return judged


def refuse_gap(
    before: Sequence[MeasurementWindow],
    after: Sequence[MeasurementWindow],
    load_change: float,
    *,
    hosts: int = 1,
) -> Judgment | None:
    """Return the outcome `no_conclusion` if a shift between the sides is too likely an explanation, else None.

    With a control host, either of two hosts can have shifted.
    """
    return refuse_measured_gap(measure_gaps(before, after), load_change, hosts=hosts)


def refuse_measured_gap(gaps: TimelineGaps, load_change: float, *, hosts: int = 1) -> Judgment | None:
    """Return the result of `refuse_gap` for measured gaps."""
    needed_s = compute_required_observation_s(gaps, CHANCE_OF_SHIFT / hosts)
    if gaps.observed_s >= needed_s:
        return None
    return build_inconclusive(
        "gap_too_long",
        load_change,
        gap=_to_minutes(gaps.longest_s),
        observed=_to_minutes(gaps.observed_s),
        needed=_to_minutes(needed_s),
    )


def _to_minutes(seconds: float) -> float:
    return round(seconds / 60, 1) if math.isfinite(seconds) else 0.0


@dataclass(frozen=True, slots=True)
class LoadGate:
    """The change of the load, and the change of the number that it can explain."""

    load_change: float
    better: Better
    divisible: bool
    utilization: float

    @property
    def is_alike(self) -> bool:
        """Whether the load is like that before the fix."""
        return abs(self.load_change) <= MAX_LOAD_CHANGE

    @property
    def improves(self) -> bool:
        """Whether the change of the load alone improves the number."""
        return (self.load_change < 0) == (self.better == "lower")

    @property
    def explained(self) -> float:
        """The natural logarithm of the largest ratio that the load explains."""
        return explain_by_load(
            self.load_change, self.better, divisible=self.divisible, utilization=self.utilization
        )


def _judge_blocks(blocks: BlockSeries, gate: LoadGate, minimum_change: float) -> Judgment:
    raw = estimate_ratio(blocks)
    if raw is None:
        return build_inconclusive("nothing_before", gate.load_change)
    if gate.is_alike:
        outcome, reason = decide_outcome(raw, gate, minimum_change)
        if outcome == "no_effect" and (blocks.values == blocks.values[0]).all():
            # Readings of a quantity vary, unless their resolution is coarser than the variation.
            return build_inconclusive("too_coarse", gate.load_change)
        return build_judgment(outcome, raw, gate.load_change, reason)
    return _judge_unlike_load(blocks, raw, gate, minimum_change)


def _judge_unlike_load(
    blocks: BlockSeries, raw: RatioEstimate, gate: LoadGate, minimum_change: float
) -> Judgment:
    """Judge under another load: a number that moved against the load, or the number per unit of work.

    A part of the number may not depend on the work. Therefore an improvement counts per unit of work if the load alone
    improves the number, else unchanged. For a deterioration it is the reverse.
    """
    per_work = None
    if gate.divisible and (blocks.loads > 0).all():
        divided = estimate_ratio(replace(blocks, values=blocks.values / blocks.loads))
        per_work = replace(divided, per_work=True) if divided is not None else None
    good = per_work if gate.improves else raw
    bad = raw if gate.improves else per_work
    calm = replace(gate, load_change=0.0)
    against = Sentence("verify.despite_load", {"percent": format_percent(gate.load_change)})
    for estimate, expected in ((good, "verified"), (bad, "worse")):
        if estimate is not None:
            outcome, _ = decide_outcome(estimate, calm, minimum_change)
            if outcome == expected:
                reason = None if estimate.per_work else against
                return build_judgment(outcome, estimate, gate.load_change, reason)
    if per_work is not None:
        outcome, reason = decide_outcome(per_work, calm, minimum_change)
        if outcome == "no_effect":
            return build_judgment(outcome, per_work, gate.load_change, reason)
    return build_inconclusive("unlike_load", gate.load_change, percent=format_percent(gate.load_change))


def estimate_ratio(blocks: BlockSeries) -> RatioEstimate | None:
    """Estimate after / before; None if the number before is not clearly above zero.

    The estimate uses logarithms if all readings are positive, else Fieller's interval of a ratio (1954). Ratios are
    never negative, because the number is not.
    """
    if (blocks.values > 0).all():
        levels = estimate_levels(blocks.t_s, np.log(blocks.values), blocks.is_after)
        middle, low, high = levels.difference(CONFIDENCE)
        return RatioEstimate(math.exp(middle), math.exp(low), math.exp(high), _compute_chance(levels))
    levels = estimate_levels(blocks.t_s, blocks.values, blocks.is_after)
    rest = (1 - CONFIDENCE) / 2
    if levels.probability_below(1.0, 0.0) > rest:
        return None
    ratio = max(
        0.0, float(levels.weights @ levels.levels[:, 1]) / float(levels.weights @ levels.levels[:, 0])
    )
    low, high = (_find_ratio(levels, share) for share in (rest, 1 - rest))
    return RatioEstimate(ratio, min(low, ratio), max(high, ratio), _compute_chance(levels))


def _find_ratio(levels: LevelEstimate, share: float) -> float:
    """Return the smallest ratio r for which (after - r * before) is negative with that probability."""
    if levels.probability_below(0.0, 1.0) >= share:
        return 0.0
    low, high = 0.0, 1.0
    while levels.probability_below(-high, 1.0) < share:
        high *= 2
        if high > 1e9:
            return math.inf
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if levels.probability_below(-middle, 1.0) < share else (low, middle)
    return high


def _compute_chance(levels: LevelEstimate) -> float:
    below = levels.probability_below(-1.0, 1.0)
    return 2 * min(below, 1 - below)


def decide_outcome(
    estimate: RatioEstimate, gate: LoadGate, minimum_change: float
) -> tuple[Outcome, Sentence | None]:
    """Return the outcome of a change and its interval, with a reason for no conclusion."""
    if 1 - minimum_change < estimate.low and estimate.high < 1 + minimum_change:
        return "no_effect", None
    explained = math.exp(min(gate.explained, 700.0))
    down, up = min(explained, 1.0), max(explained, 1.0)
    has_fallen = estimate.high < down and estimate.ratio <= down * (1 - minimum_change)
    has_risen = estimate.low > up and estimate.ratio >= up * (1 + minimum_change)
    if has_fallen or has_risen:
        return ("verified" if has_fallen == (gate.better == "lower") else "worse"), None
    clear = estimate.high < 1 or estimate.low > 1
    large = estimate.ratio <= 1 - minimum_change or estimate.ratio >= 1 + minimum_change
    if clear and large:
        percent = format_percent(gate.load_change)
        bound = format_percent(explained - 1)
        return "no_conclusion", Sentence("verify.load_explains", {"percent": percent, "bound": bound})
    return "no_conclusion", Sentence("verify.too_wide", {"minimum_change": round(100 * minimum_change)})


def build_judgment(
    outcome: Outcome, estimate: RatioEstimate, load_change: float, reason: Sentence | None
) -> Judgment:
    """Build the judgment of a ratio."""
    return Judgment(
        outcome,
        estimate.ratio - 1,
        estimate.low - 1,
        estimate.high - 1,
        estimate.p,
        load_change,
        estimate.per_work,
        reason,
    )


def format_percent(share: float) -> int | float | str:
    """Return a share in percent: with one digit below ten percent, `∞` if it is infinite."""
    if not math.isfinite(share):
        return "∞"
    return round(100 * share) if abs(share) >= 0.1 else round(100 * share, 1)


def build_inconclusive(key: str, load_change: float = math.nan, **params: str | int | float) -> Judgment:
    """Return no conclusion with the reason `verify.<key>`."""
    reason = Sentence(f"verify.{key}", params)
    return Judgment("no_conclusion", math.nan, math.nan, math.nan, math.nan, load_change, False, reason)
