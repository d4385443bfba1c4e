"""Which of a group is unlike the others."""

from __future__ import annotations

import math

import pytest
from culprit.domain.statistics.outliers import (
    MAX_Z,
    OUTLIER_Z,
    Spread,
    compare_group,
    compute_spread,
    sort_by_deviation,
)
from hypothesis import given
from hypothesis import strategies as st

ALIKE = {f"h{n}": 10 + n * 0.1 for n in range(5)}


def test_compare_group_lists_outlier_first() -> None:
    result = compare_group("m", {**ALIKE, "sick": 40.0})
    assert result is not None
    first = result.members[0]
    assert (first.name, first.is_outlier) == ("sick", True)
    assert first.z > OUTLIER_Z
    assert not any(member.is_outlier for member in result.members[1:])


def test_compare_group_detects_low_outlier() -> None:
    result = compare_group("m", {**ALIKE, "idle": 0.0})
    assert result is not None
    assert result.members[0].name == "idle"
    assert result.members[0].z < -OUTLIER_Z


def test_compare_group_detects_minority_of_unhealthy_hosts() -> None:
    well = {f"w{n}": 10 + 0.2 * n for n in range(5)}
    result = compare_group("m", {**well, **{f"s{n}": 90.0 for n in range(4)}})
    assert result is not None
    assert {member.name for member in result.members if member.is_outlier} == {f"s{n}" for n in range(4)}


@pytest.mark.parametrize("n", range(5))
def test_compare_group_needs_four_peers(n: int) -> None:
    known = {f"h{at}": float(at) for at in range(min(n, 4))}
    assert compare_group("m", {**known, "unknown": math.nan, "broken": math.inf}) is None


def test_compare_group_omits_unknown_values() -> None:
    result = compare_group("m", {**ALIKE, "blind": math.nan})
    assert result is not None
    assert (result.spread.n, len(result.members)) == (5, 5)


def test_compare_group_ranks_any_difference_from_equal_peers() -> None:
    result = compare_group("m", {**dict.fromkeys("abcd", 0.0), "e": 0.001})
    assert result is not None
    assert (result.members[0].name, result.members[0].z) == ("e", MAX_Z)


def test_a_difference_below_what_the_unit_can_mean_is_none() -> None:
    result = compare_group("m", {**dict.fromkeys("abcd", 0.0), "e": 0.1}, least=1.0)
    assert result is not None
    assert result.members[0].z == pytest.approx(0.1)


def test_two_percent_of_the_median_is_agreement() -> None:
    group = compute_spread([100.0, 100.0, 100.0, 100.0, 101.0])
    assert group == Spread(5, 100.0, 2.0)
    assert group.z(101.0) == 0.5


def test_sort_by_deviation_uses_most_deviant_host() -> None:
    calm, wild = compare_group("calm", ALIKE), compare_group("wild", {**ALIKE, "sick": 99.0})
    assert calm is not None and wild is not None
    assert [item.measure for item in sort_by_deviation([calm, wild])] == ["wild", "calm"]


def test_numbers_that_cannot_be_are_left_out() -> None:
    assert compare_group("m", dict.fromkeys("abcde", 1.7e308)) is None


@given(st.dictionaries(st.text(max_size=3), st.floats(), max_size=30), st.floats(0, 1e6))
def test_any_numbers_have_finite_standings_in_order(values: dict[str, float], least: float) -> None:
    result = compare_group("m", values, least)
    if result is None:
        return
    z = [abs(member.z) for member in result.members]
    assert z == sorted(z, reverse=True)
    assert all(math.isfinite(item) and item <= MAX_Z for item in z)
