"""Did the fix work on many hosts? Each host before against itself after, and what they say together.

Hosts are what is independent here, not their seconds: the interval is that of the mean of the hosts' relative changes,
and it gets no narrower by watching one host for longer. A host that is unlike the others is named and stays in: it is
part of what the fix does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from collectors.contract import Sentence, Values
from culprit.core.intervals import student
from culprit.core.peers import OUTLIER_Z, SCALE
from culprit.core.symbol_names import base_name, merged
from culprit.core.verify import (
    CONFIDENCE,
    DEFAULT_BAR,
    MAX_LOAD_CHANGE,
    Better,
    Judged,
    Window,
    load_of,
    none,
    relative,
    settle,
    whole,
)

MIN_HOSTS = 3
MIN_FOR_CHANCE = 6
"""Hosts from which on signs dealt out by chance can be told from a change: of five, one way in 16 is all alike."""

MAX_FOR_ALL = 12
DRAWN_SIGNS = 5000
MIN_FOR_OUTLIERS = 5
FUNCTION_CONFIDENCE = 0.999
"""A profile asks about hundreds of functions at once."""

MAX_FUNCTIONS = 200


@dataclass(frozen=True, slots=True)
class Pair:
    """One host: its windows before and after."""

    host: str
    before: Sequence[Window]
    after: Sequence[Window]


@dataclass(frozen=True, slots=True)
class HostChange:
    """One host's relative change of the number and of its load. `left_out` says why it does not count."""

    host: str
    change: float
    load_change: float
    outlier: bool = False
    left_out: Sentence | None = None


@dataclass(frozen=True, slots=True)
class Cohort:
    """What all hosts say together, and each of them."""

    judged: Judged
    hosts: tuple[HostChange, ...]


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """One function over all hosts: its mean own share (0 to 1) before and after, the mean difference, its interval.

    `sure`: the interval is clear of nothing.
    """

    name: str
    before: float
    after: float
    change: float
    low: float
    high: float
    sure: bool


@dataclass(frozen=True, slots=True)
class Differential:
    """The functions that changed most, and which names were taken as one (base name → names as the hosts have them)."""

    functions: tuple[FunctionChange, ...]
    mapping: Mapping[str, tuple[str, ...]]
    hosts: tuple[str, ...]


def pooled(
    pairs: Sequence[Pair],
    better: Better,
    *,
    bar: float = DEFAULT_BAR,
    floor: float = 0.0,
    divisible: bool = False,
) -> Cohort:
    """The outcome over all hosts; `bar`, `floor` and `divisible` as in `culprit.core.verify.judge`.

    Where any host's load is unlike, all are told per unit of work if the number allows that; else that host is left
    out, and named.
    """
    usable = [one for one in pairs if _loads(one) is not None]
    shifts = {one.host: relative(*loads) for one in usable if (loads := _loads(one)) is not None}
    unlike = {host for host, shift in shifts.items() if abs(shift) > MAX_LOAD_CHANGE}
    per_work = bool(unlike) and divisible and all(min(_loads(one) or (0.0,)) > 0 for one in usable)
    told = [
        _host(one, shifts, unlike=one.host in unlike and not per_work, per_work=per_work, floor=floor)
        for one in pairs
    ]
    told = _named(told)
    counted = [one for one in told if one.left_out is None]
    load_change = float(np.mean([one.load_change for one in counted])) if counted else math.nan
    if len(counted) < MIN_HOSTS:
        judged = none("few_hosts", load_change, least=MIN_HOSTS, hosts=len(counted))
        return Cohort(judged, tuple(told))
    changes = np.array([one.change for one in counted])
    change, low, high = _interval(changes, CONFIDENCE)
    p = _by_signs(changes) if len(changes) >= MIN_FOR_CHANCE else math.nan
    outcome, reason = settle(change, low, high, p, better, bar)
    if outcome == "no_conclusion":
        reason = Sentence("verify.cohort_too_wide", {"bar": round(100 * bar), "hosts": len(counted)})
    return Cohort(Judged(outcome, change, low, high, p, load_change, per_work, reason), tuple(told))


def _loads(pair: Pair) -> tuple[float, float] | None:
    """The load of a host before and after; None where either side has no data or no load."""
    if not whole(pair.before) or not whole(pair.after):
        return None
    loads = load_of(pair.before), load_of(pair.after)
    return None if any(math.isnan(one) for one in loads) else loads


def _host(
    pair: Pair, shifts: Mapping[str, float], *, unlike: bool, per_work: bool, floor: float
) -> HostChange:
    shift = shifts.get(pair.host, math.nan)
    if not whole(pair.before) or not whole(pair.after):
        return HostChange(pair.host, math.nan, shift, left_out=Sentence("verify.host_no_data"))
    if math.isnan(shift):
        return HostChange(pair.host, math.nan, shift, left_out=Sentence("verify.load_unknown"))
    if unlike:
        percent: str | int = round(100 * shift) if math.isfinite(shift) else "∞"
        return HostChange(
            pair.host, math.nan, shift, left_out=Sentence("verify.unlike_load", {"percent": percent})
        )
    before, after = (_mean(side, per_work=per_work) for side in (pair.before, pair.after))
    scale = max(abs(before), floor / (load_of(pair.before) if per_work else 1.0))
    if scale <= 0:
        return HostChange(pair.host, math.nan, shift, left_out=Sentence("verify.nothing_before"))
    return HostChange(pair.host, (after - before) / scale, shift)


def _mean(side: Sequence[Window], *, per_work: bool) -> float:
    """The mean of the windows' means: a longer window is not worth more."""
    return float(np.mean([np.nanmean(one.values) / (one.load if per_work else 1.0) for one in whole(side)]))


def _named(hosts: Sequence[HostChange]) -> list[HostChange]:
    """The same, outliers marked: beyond 3.5 modified z-scores of the median, of five hosts or more."""
    values = np.array([one.change for one in hosts if one.left_out is None])
    if len(values) < MIN_FOR_OUTLIERS:
        return list(hosts)
    median = float(np.median(values))
    mad = float(np.median(np.abs(values - median)))
    # Hosts that agree to the last digit would make an outlier of the first that differs by rounding.
    limit = max(OUTLIER_Z * mad / SCALE, 1e-6)
    return [
        HostChange(
            one.host,
            one.change,
            one.load_change,
            one.left_out is None and abs(one.change - median) > limit,
            one.left_out,
        )
        for one in hosts
    ]


def _interval(values: Values, confidence: float) -> tuple[float, float, float]:
    """The mean over hosts and its interval, by Student's t."""
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = student(confidence, len(values) - 1.0) * error
    return mean, mean - half, mean + half


def _by_signs(changes: Values) -> float:
    """How often the mean is as far from nothing if each host's sign were chance; all ways, or 5000 drawn ones."""
    count = len(changes)
    if count <= MAX_FOR_ALL:
        signs = np.array(list(product((-1.0, 1.0), repeat=count)))
    else:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (DRAWN_SIGNS, count))
    return float((np.abs(signs @ changes) >= abs(changes.sum()) - 1e-12).mean())


def differential(sides: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]]) -> Differential:
    """The pooled difference of profiles: for each function the mean over hosts of how its share changed.

    `sides`: host → own share by symbol (0 to 1 of the busy samples) before and after, as the profiles have the names.
    """
    hosts = tuple(sorted(sides))
    mapping = merged(name for pair in sides.values() for side in pair for name in side)
    summed = {host: tuple(_by_base(side) for side in sides[host]) for host in hosts}
    names = sorted({name for pair in summed.values() for side in pair for name in side})
    found = [_function(name, [summed[host] for host in hosts]) for name in names]
    found.sort(key=lambda one: (-abs(one.change), one.name))
    return Differential(tuple(found[:MAX_FUNCTIONS]), mapping, hosts)


def _by_base(shares: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, share in shares.items():
        base = base_name(name)
        found[base] = found.get(base, 0.0) + share
    return found


def _function(name: str, pairs: Sequence[tuple[Mapping[str, float], ...]]) -> FunctionChange:
    before = np.array([pair[0].get(name, 0.0) for pair in pairs])
    after = np.array([pair[1].get(name, 0.0) for pair in pairs])
    change, low, high = float((after - before).mean()), -1.0, 1.0
    if len(pairs) >= MIN_HOSTS:
        change, low, high = _interval(after - before, FUNCTION_CONFIDENCE)
    return FunctionChange(
        name, float(before.mean()), float(after.mean()), change, low, high, low > 0 or high < 0
    )
