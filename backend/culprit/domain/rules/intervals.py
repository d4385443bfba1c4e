"""95 % intervals of measured numbers: of shares and means of samples, of quantiles, and of events in a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from collectors.contract import Sentence, Values
from culprit.domain.statistics.intervals import Z_95, student_quantile, wilson_interval

IntervalKind = Literal["exact", "sampled", "events"]
"""How a number was obtained.

exact: a counter difference, a setting or a count of all. sampled: n samples of a state. events: n events in a time.
"""

CONFIDENCE = 0.95
#: Readings that never change have no spread to be judged by; so much correlation is assumed at most.
MAX_CORRELATION = 0.99
#: Fewer readings show no correlation that could be corrected.
MIN_CORRELATED = 5
#: Degrees of freedom beyond which Student's t equals the normal distribution to 1 %.
MAX_FREEDOM = 200


@dataclass(frozen=True, slots=True)
class Interval:
    """How a number was obtained, and where its true value is with 95 % confidence.

    An end that the samples do not limit is infinite. `reason` replaces the general reason of an inconclusive
    finding, for example if unnamed frames widen the interval.
    """

    kind: IntervalKind
    low: float
    high: float
    reason: Sentence | None = None

    def scale(self, factor: float) -> Interval:
        """Return the interval of the number times a positive, exactly known factor."""
        return Interval(self.kind, self.low * factor, self.high * factor, self.reason)


def estimate_share(share: float, samples: float, scale: float = 100.0) -> Interval:
    """Return the Wilson interval of a share (0 to 1) of independent samples, in percent by default."""
    if samples <= 0:
        return Interval("sampled", 0.0, scale)
    low, high = wilson_interval(min(1.0, max(0.0, share)), samples)
    return Interval("sampled", scale * low, scale * high)


def estimate_event_rate(count: float, seconds: float) -> Interval:
    """Return the Poisson interval of a rate from `count` events in `seconds`, per second."""
    low, high = poisson_interval(count)
    return Interval("events", low / seconds, high / seconds)


def estimate_event_share(count: float, total: float, scale: float = 100.0) -> Interval:
    """Return the Poisson interval of the share of rare events among `total`, in percent by default."""
    if total <= 0:
        return Interval("events", 0.0, scale)
    low, high = poisson_interval(count)
    return Interval("events", min(scale, scale * low / total), min(scale, scale * high / total))


def poisson_interval(count: float) -> tuple[float, float]:
    """Return the 95 % interval of the expected number of events where `count` were seen.

    Byar's approximation, within 1 % of the exact interval from three events on and wider below. Source: N. E. Breslow,
    N. E. Day, "Statistical Methods in Cancer Research", volume II, 1987, page 69.
    """
    low = count * max(0.0, 1 - 1 / (9 * count) - Z_95 / (3 * math.sqrt(count))) ** 3 if count > 0 else 0.0
    above = count + 1
    return low, above * (1 - 1 / (9 * above) + Z_95 / (3 * math.sqrt(above))) ** 3


def estimate_mean(
    values: Values, weights: Values | None = None, lowest: float = -math.inf, highest: float = math.inf
) -> Interval:
    """Return Student's t interval of the mean of readings [n] of a state, weighted by time.

    Readings that follow each other are alike, so their number is reduced by their first-order autocorrelation r to
    n (1 - r) / (1 + r) (Bartlett 1935). One reading limits nothing. A state that no reading shows may still have been
    there between readings: up to 3.7 / n, the Poisson limit of no event.
    """
    count = len(values)
    shares = np.full(count, 1.0 / count) if weights is None else weights / weights.sum()
    mean = float(values @ shares)
    if count < 2:
        return Interval("sampled", lowest, highest)
    residuals = values - mean
    variance = float(shares @ residuals**2) * count / (count - 1)
    if not variance:
        high = poisson_interval(0)[1] / count if mean == 0 else mean
        return Interval("sampled", mean, min(highest, high))
    effective = count_effective(residuals, 1.0 / float(shares @ shares))
    freedom = min(MAX_FREEDOM, max(1, math.floor(effective) - 1))
    half = _student(freedom) * math.sqrt(variance / effective)
    return Interval("sampled", max(lowest, mean - half), min(highest, mean + half))


def bound_mean(mean: float, deviation: float, count: float) -> tuple[float, float]:
    """Return the 95 % bounds (Student's t) of the mean of `count` samples with this standard deviation."""
    if count < 2:
        return -math.inf, math.inf
    half = _student(min(MAX_FREEDOM, int(count) - 1)) * deviation / math.sqrt(count)
    return mean - half, mean + half


def count_effective(residuals: Values, count: float) -> float:
    """Return how many independent readings `count` readings with these residuals [n] are worth, at least 1.

    The correlation of few readings comes out too low by (1 + 3 r) / n, which is added (M. G. Kendall, "Note on bias in
    the estimation of autocorrelation", 1954).
    """
    square, readings = float(residuals @ residuals), len(residuals)
    correlation = float(residuals[1:] @ residuals[:-1]) / square if square else 0.0
    if readings > MIN_CORRELATED:
        correlation = (correlation + 1 / readings) / (1 - 3 / readings)
    correlation = min(MAX_CORRELATION, max(0.0, correlation))
    return max(1.0, count * (1 - correlation) / (1 + correlation))


@lru_cache(maxsize=MAX_FREEDOM)
def _student(freedom: int) -> float:
    return student_quantile(CONFIDENCE, freedom)


def estimate_quantile(values: Values, quantile: float, lowest: float, highest: float) -> Interval:
    """Return the interval of a quantile (0 to 1) from readings [n] of a state, by binomial order statistics.

    Fewer readings than would show either side (8 for the lower limit of the 40th percentile) limit nothing there.
    Source: H. A. David, H. N. Nagaraja, "Order Statistics", 2003, section 7.1.
    """
    below, above = _rank_limits(len(values), quantile)
    ordered = np.sort(values)
    low = float(ordered[below]) if below is not None else lowest
    high = float(ordered[above]) if above is not None else highest
    return Interval("sampled", low, high)


@lru_cache(maxsize=4096)
def _rank_limits(count: int, quantile: float) -> tuple[int | None, int | None]:
    """Return the 0-based ranks around the quantile; None where the readings do not limit it."""
    tail = (1 - CONFIDENCE) / 2
    below: int | None = None
    above: int | None = None
    cumulated = 0.0
    for at in range(count):
        cumulated += _binomial(count, at, quantile)
        if cumulated <= tail:
            below = at
        if above is None and cumulated >= 1 - tail:
            above = at
    return below, above


def _binomial(count: int, at: int, share: float) -> float:
    log = math.lgamma(count + 1) - math.lgamma(at + 1) - math.lgamma(count - at + 1)
    return math.exp(log + at * math.log(share) + (count - at) * math.log1p(-share))
