"""Test which weights differ significantly between two sides, for one normalization.

A change must be significant in two tests. First, the counts of samples: the deviance of two shares (of samples or
CPU seconds) or of two rates (per second or per unit of work). Second, the bursts within the recordings: Student's t
with the variance between time slices, with the variance of counting as lower bound. The weaker of the two scores
counts. Few slices give a poor estimate of the variance of an item, so it is moderated by the variances of the other
items (Smyth, "Linear Models and Empirical Bayes Methods", 2004), with its own variance as lower bound.

Holm's procedure corrects for all tests: all marked changes together are real with 95 % confidence, under any
dependence. Frames depend on each other in both directions: callers contain callees, and a gain in the share of a
function is a loss of others. Benjamini and Hochberg's procedure would only ensure that most marked changes are real,
and only under some kinds of dependence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from collectors.contract import Values
from collectors.profiles.trie import I64
from culprit.domain.profiles.stacks import Mask
from culprit.domain.statistics import counts

Normalization = Literal["share", "cpu", "wall", "work"]
NORMALIZATIONS: tuple[Normalization, ...] = ("share", "cpu", "wall", "work")
Verdict = Literal["changed", "noise", "few"]

LEVEL = 0.05
"""Family-wise error rate: the probability of any marked change if nothing changed."""

MIN_EXPECTED_SAMPLES = 5.0
"""Minimum expected number of samples on each side. With fewer, no difference can be significant."""

MIN_FITTED_ITEMS = 20
"""Minimum number of items to fit the typical dispersion."""

UNMEASURED_FREEDOM = 1000.0
"""Degrees of freedom that are practically infinite."""

ASSUMED_DISPERSION = 3.0
"""Assumed variance relative to that of independent samples, for profiles without times."""


@dataclass(frozen=True, slots=True, eq=False)
class SideWeights:
    """The weights of one side.

    Attributes:
        weight, samples: [items].
        squares: [items], sum of the squared weights of samples.
        exposure: divisor of the weights.
        exposure_samples, exposure_squares: number and sum of squared weights of all samples.
        variance: [items], between time slices; None without times.
        freedom: degrees of freedom of `variance`.
    """

    weight: Values
    samples: Values
    squares: Values
    exposure: float
    exposure_samples: float
    exposure_squares: float
    variance: Values | None
    freedom: float

    def model_variance(self, *, shares: bool) -> Values:
        """Return the variance of the weights under independent samples, float64 [items]."""
        if not shares:
            return self.squares
        rate = self.weight / max(self.exposure, 1e-9)
        return np.maximum(self.squares * (1 - 2 * rate) + rate**2 * self.exposure_squares, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """The test results of all items.

    Attributes:
        delta: [items], B - A per exposure.
        z: [items], score; NaN if not tested.
        p: [items], corrected for all tests.
        noise: [items], smallest significant difference; NaN if not tested.
        tests: number of simultaneous tests.
    """

    delta: Values
    z: Values
    p: Values
    noise: Values
    tests: int

    @property
    def changed(self) -> Mask:
        """Whether the change of an item is significant, bool [items]."""
        return np.asarray(self.p < LEVEL)

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdict of each item; `few`: too few samples for a test."""
        codes = np.where(np.isnan(self.z), 2, np.where(self.changed, 0, 1))
        words: tuple[Verdict, ...] = ("changed", "noise", "few")
        return [words[code] for code in codes.tolist()]


def judge_changes(a: SideWeights, b: SideWeights, distinct: Mask, *, shares: bool) -> Judgement:
    """Compare the items of two sides.

    `distinct`, bool [items], marks hypotheses of their own; the others repeat the weights of another item and do not
    count as tests. `shares`: weights are parts of their exposure, else events of a rate.
    """
    size = len(a.weight)
    nan = np.full(size, np.nan)
    if a.exposure <= 0 or b.exposure <= 0:
        return Judgement(np.zeros(size), nan, np.ones(size), nan, 0)
    delta = b.weight / b.exposure - a.weight / a.exposure
    pooled = (a.samples + b.samples) * min(a.exposure, b.exposure) / (a.exposure + b.exposure)
    if shares:
        pooled = (
            (a.samples + b.samples)
            * min(a.exposure_samples, b.exposure_samples)
            / max(a.exposure_samples + b.exposure_samples, 1)
        )
    tested = pooled >= MIN_EXPECTED_SAMPLES
    if shares:  # An item with the whole weight of both sides cannot change.
        tested &= (a.weight < a.exposure) | (b.weight < b.exposure)
    family = np.flatnonzero(tested & distinct)
    error, freedom = _compute_standard_error(a, b, family, shares=shares)
    t = np.divide(delta, error, out=np.zeros(size), where=error > 0)
    weight_of_sample = np.maximum((a.squares + b.squares) / np.maximum(a.weight + b.weight, 1), 1e-9)
    of_counts = _count_score(a, b, weight_of_sample, shares=shares)
    z = np.sign(delta) * np.minimum(np.abs(counts.student_to_normal(t, freedom)), np.abs(of_counts))
    z[~tested] = np.nan
    critical = counts.normal_to_student(counts.find_critical_score(len(family), LEVEL), freedom)
    noise = np.where(tested, critical * error, np.nan)
    return Judgement(delta, z, _correct_for_family(z, family), noise, len(family))


def _compute_standard_error(
    a: SideWeights, b: SideWeights, family: I64, *, shares: bool
) -> tuple[Values, Values]:
    """Return the standard error of the difference and its degrees of freedom, each float64 [items]."""
    model = np.zeros(len(a.weight))
    between, below = np.zeros(len(model)), np.zeros(len(model))
    for side in (a, b):
        counted = side.model_variance(shares=shares) / side.exposure**2
        varied = (
            side.variance / side.exposure**2 if side.variance is not None else counted * ASSUMED_DISPERSION
        )
        model += counted
        between += varied
        below += varied**2 / (side.freedom if side.variance is not None else UNMEASURED_FREEDOM)
    freedom = np.divide(between**2, below, out=np.full(len(model), UNMEASURED_FREEDOM), where=below > 0)
    freedom = np.clip(freedom, 1.0, UNMEASURED_FREEDOM)
    if a.variance is None or b.variance is None:
        return np.sqrt(np.maximum(model, between)), freedom
    typical, typical_freedom = _fit_dispersion(a.weight + b.weight, model, between, freedom, family)
    pooled = (typical_freedom * typical + freedom * between) / (typical_freedom + freedom)
    # An item with a larger variance than similar items keeps its own variance.
    error = np.sqrt(np.maximum.reduce([model, between, pooled]))
    return error, np.minimum(freedom + typical_freedom, UNMEASURED_FREEDOM)


def _fit_dispersion(
    weight: Values, model: Values, between: Values, freedom: Values, family: I64
) -> tuple[Values, float]:
    """Return the typical variance of items of this weight, float64 [items], and its equivalent degrees of freedom.

    The logarithm of the dispersion is fitted by a line over the logarithm of the weight. The scatter of items around
    it, beyond the scatter that few slices explain, determines the weight of the typical variance.
    """
    family = family[(model[family] > 0) & (between[family] > 0)]
    if len(family) < MIN_FITTED_ITEMS:
        return between, 0.0
    own_freedom = float(np.median(freedom[family]))
    x, y = np.log(weight[family]), np.log(between[family] / model[family])
    slope, level = np.polyfit(x, y, 1)
    typical = np.exp(level + slope * np.log(np.maximum(weight, 1)) - _compute_log_bias(own_freedom)) * model
    scatter = float(np.var(y - level - slope * x)) * len(family) / (len(family) - 2)
    return typical, _compute_scatter_freedom(scatter - _compute_trigamma(own_freedom / 2))


def _compute_log_bias(freedom: float) -> float:
    """Return the mean of the logarithm of a chi-square divided by its freedom (digamma minus logarithm)."""
    half = freedom / 2
    return -1 / (2 * half) - 1 / (12 * half**2)


def _compute_trigamma(x: float) -> float:
    """Return the variance of the logarithm of a gamma variable of shape x, for x >= 0.5."""
    below = 0.0
    while x < 6:
        below += 1 / x**2
        x += 1
    return below + 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5)


def _compute_scatter_freedom(excess: float) -> float:
    """Return the degrees of freedom of variances whose logarithms have the variance `excess`."""
    low, high = 0.5, UNMEASURED_FREEDOM / 2
    if excess <= _compute_trigamma(high):
        return UNMEASURED_FREEDOM
    if excess >= _compute_trigamma(low):
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _compute_trigamma(middle) > excess else (low, middle)
    return 2 * low


def _count_score(a: SideWeights, b: SideWeights, weight_of_sample: Values, *, shares: bool) -> Values:
    x_a, x_b = a.weight / weight_of_sample, b.weight / weight_of_sample
    # Weights in ns are converted to counts: the total of a side divided by the mean sample weight of the item.
    of_a, of_b = a.exposure / weight_of_sample, b.exposure / weight_of_sample
    return (counts.score_shares if shares else counts.score_rates)(x_a, x_b, of_a, of_b)


def _correct_for_family(z: Values, family: I64) -> Values:
    """Return p corrected for the family, float64 [items]. Items that repeat a member of it get the same p."""
    p = np.ones(len(z))
    if len(family) == 0:
        return p
    raw = counts.compute_two_sided_p(np.nan_to_num(z))
    corrected = counts.adjust_holm(raw[family])
    order = np.argsort(raw[family], kind="stable")
    known = raw[family][order]
    position = np.clip(np.searchsorted(known, raw, "right") - 1, 0, len(known) - 1)
    p = np.where(raw < known[0], np.minimum(raw * len(family), 1.0), corrected[order][position])
    p[np.isnan(z)] = 1.0
    return p
