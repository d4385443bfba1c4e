"""Confidence intervals for few observations."""

from __future__ import annotations

import math

import numpy as np

Z_95 = 1.959964
"""Half width of the central 95 % of a normal distribution, in standard deviations."""


def wilson_interval(share: float, samples: float, z: float = Z_95) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share (0 to 1) of that many independent samples (>= 1).

    Unlike the normal (Wald) interval it stays within 0 and 1, and is accurate for few samples and extreme shares.
    Source: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927.
    """
    spread = z * z / samples
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / samples + spread / (4 * samples))
    return max(0.0, middle - half), min(1.0, middle + half)


def student_quantile(confidence: float, freedom: float) -> float:
    """Return the half width of the central `confidence` of Student's t with `freedom` degrees of freedom (>= 1).

    With t = sqrt(freedom) * tan(a) the density is a power of cos(a), which is integrated on a fine grid.
    """
    angles = np.linspace(0.0, np.pi / 2, 20_001)
    density = np.cos(angles) ** (freedom - 1.0)
    held = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return math.sqrt(freedom) * math.tan(float(np.interp(confidence, held / held[-1], angles)))
