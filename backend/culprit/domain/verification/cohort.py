"""Judge a fix on many hosts: each host before and after, and all hosts together.

Hosts are the independent observations, not their seconds. The interval is that of the mean of the relative changes of
the hosts; longer captures do not narrow it. An outlier is marked and counts, because it is part of the effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from collectors.contract import Sentence, Values
from culprit.domain.profiles.symbol_names import group_by_base_name, strip_build_marks
from culprit.domain.statistics.intervals import student_quantile
from culprit.domain.statistics.outliers import OUTLIER_Z, SCALE
from culprit.domain.verification.judge import (
    CONFIDENCE,
    DEFAULT_MINIMUM_CHANGE,
    MAX_LOAD_CHANGE,
    Better,
    Judgment,
    MeasurementWindow,
    decide_outcome,
    mean_load,
    measured_windows,
    no_conclusion,
    relative_change,
)

MIN_HOSTS = 3
MIN_FOR_CHANCE = 6
"""Minimum number of hosts for the sign test: with five hosts, one of 16 sign patterns is extreme by chance."""

MAX_FOR_ALL = 12
SAMPLED_SIGNS = 5000
MIN_FOR_OUTLIERS = 5
FUNCTION_CONFIDENCE = 0.999
"""High, because a profile tests hundreds of functions at once."""

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
    floor: float = 0.0,
    divisible: bool = False,
) -> CohortResult:
    """Judge all hosts; `minimum_change`, `floor` and `divisible` as in `judge_windows`.

    If the load of a host changed too much and the number is divisible, all hosts are judged per unit of work. Otherwise
    that host is left out with the reason.
    """
    usable = [pair for pair in pairs if _loads(pair) is not None]
    shifts = {item.host: relative_change(*loads) for item in usable if (loads := _loads(item)) is not None}
    unlike = {host for host, shift in shifts.items() if abs(shift) > MAX_LOAD_CHANGE}
    per_work = bool(unlike) and divisible and all(min(_loads(item) or (0.0,)) > 0 for item in usable)
    reported_pairs = [
        _host(pair, shifts, unlike=pair.host in unlike and not per_work, per_work=per_work, floor=floor)
        for pair in pairs
    ]
    reported_pairs = _mark_outliers(reported_pairs)
    counted = [pair for pair in reported_pairs if pair.left_out is None]
    load_change = float(np.mean([item.load_change for item in counted])) if counted else math.nan
    if len(counted) < MIN_HOSTS:
        judged = no_conclusion("few_hosts", load_change, least=MIN_HOSTS, hosts=len(counted))
        return CohortResult(judged, tuple(reported_pairs))
    changes = np.array([item.change for item in counted])
    change, low, high = _interval(changes, CONFIDENCE)
    p = _sign_test(changes) if len(changes) >= MIN_FOR_CHANCE else math.nan
    outcome, reason = decide_outcome(change, low, high, p, better, minimum_change)
    if outcome == "no_conclusion":
        reason = Sentence(
            "verify.cohort_too_wide", {"minimum_change": round(100 * minimum_change), "hosts": len(counted)}
        )
    return CohortResult(
        Judgment(outcome, change, low, high, p, load_change, per_work, reason), tuple(reported_pairs)
    )


def _loads(pair: HostWindows) -> tuple[float, float] | None:
    """Return the load of a host before and after; None if a side has no data or no load."""
    if not measured_windows(pair.before) or not measured_windows(pair.after):
        return None
    loads = mean_load(pair.before), mean_load(pair.after)
    return None if any(math.isnan(load) for load in loads) else loads


def _host(
    pair: HostWindows, shifts: Mapping[str, float], *, unlike: bool, per_work: bool, floor: float
) -> HostChange:
    shift = shifts.get(pair.host, math.nan)
    if not measured_windows(pair.before) or not measured_windows(pair.after):
        return HostChange(pair.host, math.nan, shift, left_out=Sentence("verify.host_no_data"))
    if math.isnan(shift):
        return HostChange(pair.host, math.nan, shift, left_out=Sentence("verify.load_unknown"))
    if unlike:
        percent: str | int = round(100 * shift) if math.isfinite(shift) else "∞"
        return HostChange(
            pair.host, math.nan, shift, left_out=Sentence("verify.unlike_load", {"percent": percent})
        )
    before, after = (_mean(side, per_work=per_work) for side in (pair.before, pair.after))
    scale = max(abs(before), floor / (mean_load(pair.before) if per_work else 1.0))
    if scale <= 0:
        return HostChange(pair.host, math.nan, shift, left_out=Sentence("verify.nothing_before"))
    return HostChange(pair.host, (after - before) / scale, shift)


def _mean(side: Sequence[MeasurementWindow], *, per_work: bool) -> float:
    """Return the mean of the window means; a longer window has no higher weight."""
    return float(
        np.mean(
            [np.nanmean(item.values) / (item.load if per_work else 1.0) for item in measured_windows(side)]
        )
    )


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


def _interval(values: Values, confidence: float) -> tuple[float, float, float]:
    """Return the mean over hosts and its interval, by Student's t."""
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = student_quantile(confidence, len(values) - 1.0) * error
    return mean, mean - half, mean + half


def _sign_test(changes: Values) -> float:
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
    summed = {host: tuple(_by_base(side) for side in sides[host]) for host in hosts}
    names = sorted({name for pair in summed.values() for side in pair for name in side})
    matching_names = [_function(name, [summed[host] for host in hosts]) for name in names]
    matching_names.sort(key=lambda name: (-abs(name.change), name.name))
    return FunctionComparison(tuple(matching_names[:MAX_FUNCTIONS]), mapping, hosts)


def _by_base(shares: Mapping[str, float]) -> dict[str, float]:
    results: dict[str, float] = {}
    for name, share in shares.items():
        base = strip_build_marks(name)
        results[base] = results.get(base, 0.0) + share
    return results


def _function(name: str, pairs: Sequence[tuple[Mapping[str, float], ...]]) -> FunctionChange:
    before = np.array([pair[0].get(name, 0.0) for pair in pairs])
    after = np.array([pair[1].get(name, 0.0) for pair in pairs])
    change, low, high = float((after - before).mean()), -1.0, 1.0
    if len(pairs) >= MIN_HOSTS:
        change, low, high = _interval(after - before, FUNCTION_CONFIDENCE)
    return FunctionChange(
        name, float(before.mean()), float(after.mean()), change, low, high, low > 0 or high < 0
    )
