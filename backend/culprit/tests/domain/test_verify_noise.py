"""A verification is not fooled by noise that is correlated over minutes: the short form of `./culprit bench verify`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bench.verification.noise import KINDS
from bench.verification.verify import DESIGNS, simulate_lower_load, simulate_pair

pytestmark = pytest.mark.long(40)
PAIRS = 12


@pytest.mark.parametrize("design", DESIGNS)
def test_nothing_changed_is_neither_verified_nor_worse(design: str) -> None:
    """108 pairs, 12 per kind of noise; 2.5 % of them are 3."""
    rng = np.random.default_rng(20261126)
    counts = Counter(
        simulate_pair(DESIGNS[design], kind, 0.0, rng).outcome for kind in KINDS for _ in range(PAIRS)
    )
    assert counts["verified"] <= 3 and counts["worse"] <= 3, counts


@pytest.mark.parametrize("design", DESIGNS)
def test_half_of_the_time_is_seen(design: str) -> None:
    rng = np.random.default_rng(20261126)
    counts = Counter(
        simulate_pair(DESIGNS[design], kind, -0.5, rng).outcome for kind in KINDS for _ in range(5)
    )
    assert counts["verified"] >= 40, counts


def test_lower_load_is_never_verified() -> None:
    rng = np.random.default_rng(20261126)
    outcomes = [simulate_lower_load(drop, 0.9, rng).outcome for drop in (0.02, 0.05, 0.17) for _ in range(10)]
    assert "verified" not in outcomes
