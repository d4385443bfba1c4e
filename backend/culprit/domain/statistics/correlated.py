"""Estimate the change of a level between two sides from readings that are correlated over time.

The model of the readings is a level per side, a drift, and a disturbance with an unknown correlation time: independent
noise, an Ornstein-Uhlenbeck process (AR(1) in continuous time; a random walk for long times) or a smooth process
(Matern 3/2, for periodic load). Duration, strength and slope are unknown, and few readings do not determine them. All
combinations of a grid are therefore weighed by their restricted likelihood, and the interval is that of the mixture.
Sources: Harville, "Bayesian Inference for Variance Components Using Only Error Contrasts" (1974); Rasmussen and
Williams, "Gaussian Processes for Machine Learning" (2006), chapters 2 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from collectors.contract import Values

Flags = npt.NDArray[np.bool_]

DURATIONS = (0.02, 0.06, 0.2, 0.6, 2.0)
"""Correlation times of the disturbance, as shares of the observed time."""

STRENGTHS = (0.1, 0.4, 1.6, 6.4, 25.6, 102.4)
"""Variance of the disturbance across half the observed time, relative to that of the independent noise."""

SLOPES = (0.0, 1.0, 10.0, 100.0)
"""Variance of the drift over the observed time, relative to that of the independent noise."""


@dataclass(frozen=True, slots=True)
class LevelEstimate:
    """The distribution of the two levels, [before, after], as a mixture over k models of the noise.

    Attributes:
        levels: float64 [k, 2].
        covariances: float64 [k, 2, 2].
        weights: float64 [k], sum 1.
        freedom: degrees of freedom of Student's t.
    """

    levels: Values
    covariances: Values
    weights: Values
    freedom: float

    def combine(self, before: float, after: float) -> tuple[Values, Values]:
        """Return the mean and the standard error of `before * level before + after * level after` in each model."""
        factors = np.array([before, after])
        return self.levels @ factors, np.sqrt(
            np.maximum(np.einsum("i,kij,j->k", factors, self.covariances, factors), 0)
        )

    def probability_below(self, before: float, after: float) -> float:
        """Return the probability that `before * level before + after * level after` is below zero."""
        means, errors = self.combine(before, after)
        angles, held = _build_student_table(self.freedom)
        turned = np.arctan(-means / np.maximum(errors, 1e-300) / np.sqrt(self.freedom))
        return float(self.weights @ np.interp(turned, angles, held))

    def difference(self, confidence: float) -> tuple[float, float, float]:
        """Return after minus before, and the lower and upper bound of its interval."""
        means, errors = self.combine(-1.0, 1.0)
        rest = (1 - confidence) / 2
        return (
            float(self.weights @ means),
            find_quantile(means, errors, self.weights, self.freedom, rest),
            find_quantile(means, errors, self.weights, self.freedom, 1 - rest),
        )


def estimate_levels(t_s: Values, values: Values, is_after: Flags) -> LevelEstimate:
    """Estimate the level of both sides.

    Args:
        t_s: float64 [n], the times of the readings, in seconds.
        values: float64 [n], at least four, of both sides.
        is_after: bool [n], the side of each reading.
    """
    at = (t_s - t_s.mean()) / max(float(np.ptp(t_s)), 1e-9)
    center = float(values.mean())
    spread = float(values.std()) or 1.0
    y = (values - center) / spread
    design = np.column_stack([~is_after, is_after]).astype(float)
    whitening, log_scale = _whiten_models(tuple(at.tolist()))
    white_design = whitening @ design
    white_y = whitening @ y
    gram = np.einsum("kni,knj->kij", white_design, white_design)
    inverse = np.linalg.inv(gram)
    levels = np.einsum("kij,knj,kn->ki", inverse, white_design, white_y)
    rest = ((white_y - np.einsum("kni,ki->kn", white_design, levels)) ** 2).sum(axis=1)
    freedom = float(len(y) - 2)
    rest = np.maximum(rest, 1e-12)
    log_weights = -log_scale - 0.5 * np.linalg.slogdet(gram)[1] - 0.5 * freedom * np.log(rest)
    weights = np.exp(log_weights - log_weights.max())
    covariances = inverse * (rest / freedom)[:, None, None] * spread**2
    return LevelEstimate(levels * spread + center, covariances, weights / weights.sum(), freedom)


@lru_cache(maxsize=8)
def _whiten_models(times: tuple[float, ...]) -> tuple[Values, Values]:
    """Return the whitening matrix, float64 [k, n, n], and half the log determinant of the covariance, [k], by model.

    A whitening matrix makes readings at these times independent. The result is cached, because the hosts of a
    comparison and the pairs of a simulation have the same times.
    """
    lower = np.linalg.cholesky(_build_models(np.array(times)))
    return np.linalg.inv(lower), np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)


def _build_models(at: Values) -> Values:
    """Return the covariance of the readings under each model of the noise, float64 [k, n, n]."""
    lag = np.abs(at[:, None] - at[None, :])
    kernels = [np.zeros_like(lag)]
    for duration in DURATIONS:
        for kernel in (_correlate_exponential, _correlate_matern):
            unit = kernel(lag, duration)
            half = 1 - float(kernel(np.array(0.5), duration))
            kernels += [strength / half * unit for strength in STRENGTHS]
    drift = at[:, None] * at[None, :]
    models = np.array(kernels)[:, None] + np.array(SLOPES)[:, None, None] * drift
    return models.reshape(-1, *lag.shape) + np.eye(len(at))


def _correlate_exponential(lag: Values, duration: float) -> Values:
    decayed: Values = np.exp(-lag / duration)
    return decayed


def _correlate_matern(lag: Values, duration: float) -> Values:
    scaled = np.sqrt(3.0) * lag / duration
    smooth: Values = (1 + scaled) * np.exp(-scaled)
    return smooth


def find_quantile(means: Values, errors: Values, weights: Values, freedom: float, share: float) -> float:
    """Return the quantile of a mixture of shifted, scaled Student t distributions."""
    angles, held = _build_student_table(freedom)
    reach = float(errors.max()) * 200 + 1e-12
    low, high = float(means.min()) - reach, float(means.max()) + reach
    safe = np.maximum(errors, 1e-300)
    for _ in range(70):
        middle = (low + high) / 2
        turned = np.arctan((middle - means) / safe / np.sqrt(freedom))
        if float(weights @ np.interp(turned, angles, held)) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@lru_cache(maxsize=64)
def _build_student_table(freedom: float) -> tuple[Values, Values]:
    """Return the distribution of t = sqrt(freedom) * tan(angle) at each angle; its density is a power of the cosine."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, 4001)
    density = np.cos(angles) ** (freedom - 1.0)
    held = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return angles, held / held[-1]
