"""Test whether two counts differ significantly, with a correction for multiple comparisons.

Scores are standard normal under the null hypothesis of no change. Sources: McCullagh and Nelder, "Generalized Linear
Models" (1989), signed roots of deviances; D. L. Wallace, "Bounds on normal approximations to Student's and the
chi-square distributions" (1959); S. Holm, "A simple sequentially rejective multiple test procedure" (1979).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from collectors.contract import Values

_ERFC = np.frompyfunc(math.erfc, 1, 1)


def score_shares(x_a: Values, x_b: Values, n_a: Values, n_b: Values) -> Values:
    """Return the score of x_b of n_b against x_a of n_a (binomial), float64 [k]; positive if the share grew.

    Unlike a difference divided by its standard error, the signed root of the deviance is accurate for low counts and
    in the tails, which a correction for many comparisons needs.
    """
    x_a, x_b = _correct_continuity(x_a, x_b, n_a, n_b)
    deviance = _compute_deviance(x_a, x_b, n_a, n_b) + _compute_deviance(n_a - x_a, n_b - x_b, n_a, n_b)
    return np.asarray(np.sign(x_b * n_a - x_a * n_b) * np.sqrt(np.maximum(deviance, 0)))


def score_rates(x_a: Values, x_b: Values, e_a: Values, e_b: Values) -> Values:
    """Return the score of x_b in e_b against x_a in e_a (Poisson), float64 [k]; positive if the rate grew."""
    x_a, x_b = _correct_continuity(x_a, x_b, e_a, e_b)
    return np.asarray(
        np.sign(x_b * e_a - x_a * e_b) * np.sqrt(np.maximum(_compute_deviance(x_a, x_b, e_a, e_b), 0))
    )


def _correct_continuity(x_a: Values, x_b: Values, e_a: Values, e_b: Values) -> tuple[Values, Values]:
    """Apply the continuity correction: move both counts by at most half a count towards the expected ones."""
    excess = x_b - (x_a + x_b) * (e_b / (e_a + e_b))
    step = np.sign(excess) * np.minimum(np.abs(excess), 0.5)
    return x_a + step, x_b - step


def _compute_deviance(x_a: Values, x_b: Values, e_a: Values, e_b: Values) -> Values:
    expected_a = (x_a + x_b) * (e_a / (e_a + e_b))
    expected_b = (x_a + x_b) * (e_b / (e_a + e_b))
    return 2 * (_multiply_log(x_a, expected_a) + _multiply_log(x_b, expected_b))


def _multiply_log(x: Values, expected: Values) -> Values:
    safe = (x > 0) & (expected > 0)
    ratio = np.divide(x, expected, out=np.ones_like(expected, dtype=float), where=safe)
    return np.asarray(x * np.log(ratio))


def student_to_normal(t: Values, freedom: Values) -> Values:
    """Return the normal scores with the tail probabilities of these Student's t values, float64 [k], within 2 %."""
    scale = (8 * freedom + 1) / (8 * freedom + 3)
    return np.asarray(np.sign(t) * scale * np.sqrt(freedom * np.log1p(t * t / freedom)))


def normal_to_student(z: float, freedom: Values) -> Values:
    """Return the inverse of `student_to_normal` for z >= 0, float64 [k]; at most 1e6."""
    scale = (8 * freedom + 1) / (8 * freedom + 3)
    power = np.minimum((z / scale) ** 2 / freedom, 27.0)
    return np.asarray(np.minimum(np.sqrt(freedom * np.expm1(power)), 1e6))


def compute_two_sided_p(z: Values) -> Values:
    """Return the probability of scores at least as far from zero, float64 [k]."""
    return np.asarray(_ERFC(np.abs(z) / math.sqrt(2)), float)


def find_critical_score(comparisons: int, level: float) -> float:
    """Return the two-sided critical score of the most significant of `comparisons` tests, for a family-wise `level`."""
    return NormalDist().inv_cdf(1 - level / max(comparisons, 1) / 2)


def adjust_holm(p: Values) -> Values:
    """Return the p values, float64 [k], corrected for k comparisons by Holm's procedure; any dependence is allowed."""
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
