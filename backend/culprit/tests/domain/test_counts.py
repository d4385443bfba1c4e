"""Scores of counts: against exact probabilities, and the correction for many tests against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from culprit.domain.statistics import counts
from culprit.domain.statistics.intervals import student_quantile
from hypothesis import given
from hypothesis import strategies as st


def binomial_tail(x: int, n: int, share: float) -> float:
    return sum(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(x, n + 1))


@pytest.mark.parametrize(
    ("x_a", "x_b", "e_a", "e_b"), [(5, 25, 1, 1), (30, 60, 1, 1), (10, 20, 2, 1), (0, 12, 1, 1)]
)
def test_rates_have_the_score_of_their_exact_probability(x_a, x_b, e_a, e_b) -> None:
    """Given their sum, one of two Poisson counts is binomial."""
    score = counts.score_rates(*(np.array([float(value)]) for value in (x_a, x_b, e_a, e_b)))
    share = e_b / (e_a + e_b)
    exact = math.log10(2 * binomial_tail(x_b, x_a + x_b, share))
    assert math.log10(float(counts.compute_two_sided_p(score)[0])) == pytest.approx(exact, rel=0.1)


def test_shares_count_both_what_is_in_and_what_is_out() -> None:
    score = counts.score_shares(np.array([300.0]), np.array([500.0]), np.array([1000.0]), np.array([1000.0]))
    assert score[0] == pytest.approx(9.15, abs=0.05)  # (0.5 - 0.3) / sqrt(2 * 0.4 * 0.6 / 1000) = 9.13
    most = counts.score_shares(np.array([990.0]), np.array([999.0]), np.array([1000.0]), np.array([1000.0]))
    assert most[0] > 2.5, "what is left of the rest fell to a tenth"


@pytest.mark.parametrize("freedom", [7.0, 14.0, 30.0, 1000.0])
def test_students_t_becomes_a_normal_score(freedom: float) -> None:
    for confidence, z in ((0.95, 1.95996), (0.99, 2.57583), (0.999, 3.29053)):
        t = student_quantile(confidence, freedom)
        assert counts.student_to_normal(np.array([t]), np.array([freedom]))[0] == pytest.approx(z, rel=0.02)
        back = counts.normal_to_student(z, np.array([freedom]))
        assert back[0] == pytest.approx(t, rel=0.03)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_as_defined(p: list[float]) -> None:
    adjusted = counts.adjust_holm(np.array(p))
    order = sorted(range(len(p)), key=lambda i: (p[i], i))
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - rank) * p[i]))
        assert adjusted[i] == pytest.approx(highest)


def test_the_first_of_many_must_be_far_out() -> None:
    assert counts.find_critical_score(1, 0.05) == pytest.approx(1.96, abs=0.001)
    assert counts.find_critical_score(1000, 0.05) == pytest.approx(4.056, abs=0.001)
