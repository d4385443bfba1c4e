"""How much a series differs between two ranges: exact cases, chance, and properties."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from culprit.domain.series.differences import (
    MAX_STEPS,
    MIN_STEP,
    compare_columns,
    compare_values,
    summarize_values,
)
from hypothesis import given
from hypothesis import strategies as st

SERIES = st.lists(
    st.floats(-1e9, 1e9, allow_nan=False, width=32) | st.just(math.nan), min_size=0, max_size=40
).map(np.array)


def noise(mean, spread, seed=1):
    """60 values of exactly this normal distribution, in a random order."""
    quantiles = [NormalDist(mean, spread).inv_cdf((at + 0.5) / 60) for at in range(60)]
    return np.random.default_rng(seed).permutation(quantiles)


def test_the_unit_is_the_spread_before():
    quiet = compare_values(noise(100, 10), noise(140, 10, seed=2), "per_s")
    noisy = compare_values(noise(100, 40), noise(140, 10, seed=2), "per_s")
    assert quiet.is_clear
    assert quiet.steps == pytest.approx(4, rel=0.1)
    assert noisy.steps == pytest.approx(quiet.steps / 4, rel=0.1)
    assert quiet.ratio == pytest.approx(1.4, rel=0.05)
    assert quiet.rank < noisy.rank, "the larger difference comes first"


def test_a_constant_series_has_a_step_of_two_percent():
    grew = compare_values(np.full(30, 1000.0), np.full(30, 1060.0), "per_s")
    assert (grew.steps, grew.is_clear) == (pytest.approx(3), True)
    assert not compare_values(np.full(30, 1000.0), np.full(30, 1010.0), "per_s").is_clear


def test_a_change_below_what_matters_in_the_unit_does_not_count():
    small = compare_values(np.zeros(30), np.full(30, 0.4), "pct")
    assert not small.is_clear
    assert small.ratio is None
    new = compare_values(np.zeros(30), np.full(30, 70.0), "pct")
    assert (new.steps, new.ratio, new.is_clear) == (70.0, None, True)
    assert compare_values(np.zeros(30), np.full(30, 1e9), "per_s").steps == MAX_STEPS


def test_beyond_the_limit_the_larger_change_comes_first():
    large, larger = (compare_values(np.zeros(30), np.full(30, level), "per_s") for level in (1e4, 1e5))
    assert large.steps == larger.steps == MAX_STEPS
    assert larger.rank < large.rank


def test_bursts_count_as_spread():
    bursts = np.where(np.arange(60) % 8 == 0, 100.0, 1.0)
    assert not compare_values(bursts, bursts * 1.2, "pct").is_clear


def test_few_values_have_no_spread():
    lone = compare_values(np.array([100.0]), np.array([400.0]), "kb_per_s")
    assert (lone.steps, lone.is_clear, lone.ratio) == (None, True, 4.0)
    assert not compare_values(np.array([1000.0]), np.array([1010.0]), "per_s").is_clear
    assert compare_values(noise(100, 1), noise(140, 1), "per_s").rank < lone.rank


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_chance_alone_changes_few_of_many_series(correlation):
    generator = np.random.default_rng(5)
    clear = 0
    for _ in range(1000):
        values = generator.normal(0, 1, 120)
        for at in range(1, 120):
            values[at] += correlation * values[at - 1]
        clear += compare_values(values[:60] + 1e3, values[60:] + 1e3, "").is_clear
    assert clear <= 10


def test_missing_values_are_not_zero():
    gaps = np.array([math.nan, 5.0, math.nan, 5.0])
    assert summarize_values(gaps).n == 2
    assert summarize_values(gaps).mean == 5
    assert compare_values(np.full(9, math.nan), gaps, "pct") is None


@given(SERIES, SERIES, st.sampled_from(["", *MIN_STEP]))
def test_a_swap_changes_the_sign_and_equal_sides_never_differ(before, after, unit):
    there, back = compare_values(before, after, unit), compare_values(after, before, unit)
    assert (there is None) == (back is None)
    if there is None:
        return
    assert there.before == back.after
    if there.steps is not None:
        assert abs(there.steps) <= MAX_STEPS
        assert np.sign(there.steps) == -np.sign(back.steps) or there.before.mean == there.after.mean
    same = compare_values(before, before, unit)
    assert not same.is_clear
    assert same.steps in {None, 0.0}


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 5), st.integers(0, 1 << 32))
def test_each_column_is_compared_independently_of_the_others(n, m, columns, seed):
    generator = np.random.default_rng(seed)
    before, after = (generator.choice([math.nan, *range(0, 50, 7)], size=(rows, columns)) for rows in (n, m))
    compared = compare_columns(before, after, "pct")
    alone = [compare_values(before[:, at], after[:, at], "pct") for at in range(columns)]
    assert list(compared.is_known) == [item is not None for item in alone]
    known = [at for at in range(columns) if alone[at] is not None]
    assert [compared.get_difference(at) for at in known] == [alone[at] for at in known]
    largest = compared.find_largest()
    if known:
        assert alone[largest].rank == min((not alone[at].is_clear, alone[at].rank) for at in known)[1]
    else:
        assert largest is None
