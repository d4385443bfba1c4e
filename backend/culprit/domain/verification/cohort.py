"""Judge a fix on many hosts: each host before and after, and all hosts together.

Hosts are the independent observations, not their seconds. The interval is that of the mean of the logarithms of the
changes of the hosts; longer captures do not narrow it. It is never narrower than that of a change that all hosts have
in common over time. An outlier is marked and counts, because it is part of the effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from collectors.contract import Sentence, Values
from culprit.domain.profiles.symbol_names import group_by_base_name, strip_build_marks
from culprit.domain.statistics.correlated import estimate_levels
from culprit.domain.statistics.intervals import student_quantile
from culprit.domain.statistics.outliers import OUTLIER_Z, SCALE
from culprit.domain.verification.judge import (
    CONFIDENCE,
    DEFAULT_MINIMUM_CHANGE,
    Judgment,
    LoadGate,
    RatioEstimate,
    build_inconclusive,
    build_judgment,
    decide_outcome,
    format_percent,
    refuse_gap,
)
from culprit.domain.verification.load import MAX_LOAD_CHANGE, find_utilization, has_more_failures
from culprit.domain.verification.windows import (
    BLOCK_S,
    MIN_WINDOWS,
    Better,
    MeasurementWindow,
    build_blocks,
    compute_mean_load,
    compute_relative_change,
    list_measured_windows,
)

MIN_HOSTS = 3
MIN_FOR_CHANCE = 6
"""Minimum number of hosts for the sign test: with five hosts, one of 16 sign patterns is extreme by chance."""

MAX_FOR_ALL = 12
SAMPLED_SIGNS = 5000
MIN_FOR_OUTLIERS = 5
MAX_CHANCE = 0.05
"""Largest probability of the sign test for a conclusion."""

FUNCTION_CONFIDENCE = 0.999
"""Confidence of the intervals of functions; high, because a profile has hundreds of simultaneous tests."""

MAX_FUNCTIONS = 200


@dataclass(frozen=True, slots=True)
class HostWindows:
    """The windows of one host before and after."""

    host: str
    before: Sequence[MeasurementWindow]
    after: Sequence[MeasurementWindow]


@dataclass(frozen=True, slots=True)
class HostChange:
    """The relative change of the number and of the load on one host. `left_out` is why it does not count."""

    host: str
    change: float
    load_change: float
    outlier: bool = False
    left_out: Sentence | None = None


@dataclass(frozen=True, slots=True)
class CohortResult:
    """The judgment over all hosts, and the change of each host."""

    judged: Judgment
    hosts: tuple[HostChange, ...]


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """A function over all hosts: mean own share (0 to 1) before and after, mean difference and its interval.

    `sure`: the interval does not contain zero.
    """

    name: str
    before: float
    after: float
    change: float
    low: float
    high: float
    sure: bool


@dataclass(frozen=True, slots=True)
class FunctionComparison:
    """The functions that changed most, and the matched names (base name → names on the hosts)."""

    functions: tuple[FunctionChange, ...]
    mapping: Mapping[str, tuple[str, ...]]
    hosts: tuple[str, ...]


def judge_cohort(
    pairs: Sequence[HostWindows],
    better: Better,
    *,
    minimum_change: float = DEFAULT_MINIMUM_CHANGE,
    divisible: bool = False,
) -> CohortResult:
    """Judge all hosts; `minimum_change` and `divisible` as in `judge_windows`.

    Hosts share their load and their neighbors, so a change between the sides can be common to all of them without
    the fix. The interval is the wider one of that over hosts and that over time. If the load of a host changed too much
    and the number is divisible, the smaller of its change and its change per unit of work counts. Otherwise that
    host is left out with the reason.
    """
    changes = _mark_outliers([_measure_host(pair, divisible=divisible) for pair in pairs])
    counted = [item for item in changes if item.left_out is None]
    load_change = float(np.mean([item.load_change for item in counted])) if counted else math.nan
    if len(counted) < MIN_HOSTS:
        judged = build_inconclusive("few_hosts", load_change, least=MIN_HOSTS, hosts=len(counted))
        return CohortResult(judged, tuple(changes))
    names = {item.host for item in counted}
    hosts = [pair for pair in pairs if pair.host in names]
    judged = _judge_hosts(hosts, counted, better, minimum_change, load_change, divisible=divisible)
    return CohortResult(judged, tuple(changes))


def _judge_hosts(
    hosts: Sequence[HostWindows],
    counted: Sequence[HostChange],
    better: Better,
    minimum_change: float,
    load_change: float,
    *,
    divisible: bool,
) -> Judgment:
    before = [item for pair in hosts for item in pair.before]
    after = [item for pair in hosts for item in pair.after]
    refusal = refuse_gap(before, after, load_change)
    if refusal is not None:
        return refusal
    logs = np.log1p([item.change for item in counted])
    middle, low, high = _compute_interval(logs, CONFIDENCE)
    common = _estimate_common_change(hosts)
    low, high = (middle + min(low - middle, common[1]), middle + max(high - middle, common[2]))
    middle += common[0]
    p = _compute_sign_test(logs) if len(logs) >= MIN_FOR_CHANCE else math.nan
    per_work = divisible and any(abs(item.load_change) > MAX_LOAD_CHANGE for item in counted)
    estimate = RatioEstimate(math.exp(middle), math.exp(low), math.exp(high), p, per_work)
    # The effect of a load change beyond the limit is already subtracted from the host's own change.
    gate = LoadGate(0.0 if per_work else load_change, better, divisible, find_utilization(before))
    outcome, reason = decide_outcome(estimate, gate, minimum_change)
    if outcome in {"verified", "worse"} and p > MAX_CHANCE:
        outcome, reason = "no_conclusion", None
    if outcome == "verified" and has_more_failures(before, after):
        outcome, reason = "no_conclusion", Sentence("verify.failing_fast")
    if outcome == "no_conclusion" and (reason is None or reason.key == "verify.too_wide"):
        reason = Sentence(
            "verify.cohort_too_wide", {"minimum_change": round(100 * minimum_change), "hosts": len(counted)}
        )
    return build_judgment(outcome, estimate, load_change, reason)


def _estimate_common_change(hosts: Sequence[HostWindows]) -> tuple[float, float, float]:
    """Return the drift part of the change that all hosts have in common, with its interval, in logarithms.

    The values of each host are first divided by its level per side, so that differences of the fix between hosts do
    not count as noise.
    """
    bins: dict[tuple[bool, int], list[float]] = {}
    for pair in hosts:
        blocks = build_blocks(pair.before, pair.after)
        logs = np.log(np.maximum(blocks.values, np.finfo(float).tiny))
        for is_after in (False, True):
            side = blocks.is_after == is_after
            for at, value in zip(blocks.t_s[side], logs[side] - logs[side].mean(), strict=True):
                bins.setdefault((is_after, round(at / BLOCK_S)), []).append(float(value))
    order = sorted(bins, key=lambda item: item[1])
    values = np.array([float(np.mean(bins[item])) for item in order])
    times = np.array([float(item[1] * BLOCK_S) for item in order])
    levels = estimate_levels(times, values, np.array([item[0] for item in order]))
    return levels.difference(CONFIDENCE)


def _measure_host(pair: HostWindows, *, divisible: bool) -> HostChange:
    if any(len(list_measured_windows(side)) < MIN_WINDOWS for side in (pair.before, pair.after)):
        return HostChange(pair.host, math.nan, math.nan, left_out=Sentence("verify.host_no_data"))
    loads = compute_mean_load(pair.before), compute_mean_load(pair.after)
    if any(math.isnan(load) for load in loads):
        return HostChange(pair.host, math.nan, math.nan, left_out=Sentence("verify.load_unknown"))
    shift = compute_relative_change(*loads)
    means = [
        float(np.mean([np.nanmean(item.values) for item in list_measured_windows(side)]))
        for side in (pair.before, pair.after)
    ]
    if min(means) <= 0:
        return HostChange(pair.host, math.nan, shift, left_out=Sentence("verify.nothing_before"))
    change = math.log(means[1] / means[0])
    if abs(shift) > MAX_LOAD_CHANGE:
        if not divisible or min(loads) <= 0:
            reason = Sentence("verify.unlike_load", {"percent": format_percent(shift)})
            return HostChange(pair.host, math.nan, shift, left_out=reason)
        per_work = change - math.log(loads[1] / loads[0])
        change = 0.0 if change * per_work < 0 else min(change, per_work, key=abs)
    return HostChange(pair.host, math.expm1(change), shift)


def _mark_outliers(hosts: Sequence[HostChange]) -> list[HostChange]:
    """Mark outliers: more than 3.5 modified z-scores from the median, for five hosts or more."""
    values = np.array([host.change for host in hosts if host.left_out is None])
    if len(values) < MIN_FOR_OUTLIERS:
        return list(hosts)
    median = float(np.median(values))
    mad = float(np.median(np.abs(values - median)))
    # If hosts are equal to the last digit, a rounding difference must not be an outlier.
    limit = max(OUTLIER_Z * mad / SCALE, 1e-6)
    return [
        HostChange(
            host.host,
            host.change,
            host.load_change,
            host.left_out is None and abs(host.change - median) > limit,
            host.left_out,
        )
        for host in hosts
    ]


def _compute_interval(values: Values, confidence: float) -> tuple[float, float, float]:
    """Return the mean over hosts and its interval, by Student's t."""
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = student_quantile(confidence, len(values) - 1.0) * error
    return mean, mean - half, mean + half


def _compute_sign_test(changes: Values) -> float:
    """Return the p-value of the sign test: over all sign patterns, or 5000 random ones."""
    count = len(changes)
    if count <= MAX_FOR_ALL:
        signs = np.array(list(product((-1.0, 1.0), repeat=count)))
    else:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (SAMPLED_SIGNS, count))
    return float((np.abs(signs @ changes) >= abs(changes.sum()) - 1e-12).mean())


def compare_functions(
    sides: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]],
) -> FunctionComparison:
    """Compare profiles over hosts: for each function the mean change of its share.

    Args:
        sides: host → own share by symbol (0 to 1 of the busy samples) before and after, with the names of the profile.
    """
    hosts = tuple(sorted(sides))
    mapping = group_by_base_name(name for pair in sides.values() for side in pair for name in side)
    summed = {host: tuple(_sum_by_base_name(side) for side in sides[host]) for host in hosts}
    names = sorted({name for pair in summed.values() for side in pair for name in side})
    compared = [_build_function_change(name, [summed[host] for host in hosts]) for name in names]
    compared.sort(key=lambda name: (-abs(name.change), name.name))
    return FunctionComparison(tuple(compared[:MAX_FUNCTIONS]), mapping, hosts)


def _sum_by_base_name(shares: Mapping[str, float]) -> dict[str, float]:
    results: dict[str, float] = {}
    for name, share in shares.items():
        base = strip_build_marks(name)
        results[base] = results.get(base, 0.0) + share
    return results


def _build_function_change(name: str, pairs: Sequence[tuple[Mapping[str, float], ...]]) -> FunctionChange:
    before = np.array([pair[0].get(name, 0.0) for pair in pairs])
    after = np.array([pair[1].get(name, 0.0) for pair in pairs])
    change, low, high = float((after - before).mean()), -1.0, 1.0
    if len(pairs) >= MIN_HOSTS:
        change, low, high = _compute_interval(after - before, FUNCTION_CONFIDENCE)
    return FunctionChange(
        name, float(before.mean()), float(after.mean()), change, low, high, low > 0 or high < 0
    )
