"""Which of a group is unlike the others."""

from __future__ import annotations

import math

import pytest
from culprit.core.peers import MOST, OUTLIER_Z, Spread, compare, most_unusual, spread
from hypothesis import given
from hypothesis import strategies as st

ALIKE = {f"h{n}": 10 + n * 0.1 for n in range(5)}


def test_the_one_that_differs_is_named_first() -> None:
    found = compare("m", {**ALIKE, "sick": 40.0})
    assert found is not None
    first = found.standings[0]
    assert (first.who, first.unlike) == ("sick", True)
    assert first.z > OUTLIER_Z
    assert not any(one.unlike for one in found.standings[1:])


def test_one_that_is_too_low_is_unlike_too() -> None:
    found = compare("m", {**ALIKE, "idle": 0.0})
    assert found is not None
    assert found.standings[0].who == "idle"
    assert found.standings[0].z < -OUTLIER_Z


def test_half_of_a_group_but_one_may_be_sick_before_the_well_ones_stand_out() -> None:
    well = {f"w{n}": 10 + 0.2 * n for n in range(5)}
    found = compare("m", {**well, **{f"s{n}": 90.0 for n in range(4)}})
    assert found is not None
    assert {one.who for one in found.standings if one.unlike} == {f"s{n}" for n in range(4)}


@pytest.mark.parametrize("n", range(5))
def test_fewer_than_four_peers_say_nothing(n: int) -> None:
    known = {f"h{at}": float(at) for at in range(min(n, 4))}
    assert compare("m", {**known, "unknown": math.nan, "broken": math.inf}) is None


def test_what_is_not_known_is_nobody_s_standing() -> None:
    found = compare("m", {**ALIKE, "blind": math.nan})
    assert found is not None
    assert (found.spread.n, len(found.standings)) == (5, 5)


def test_where_all_others_are_equal_any_difference_is_the_most_unusual_one() -> None:
    found = compare("m", {**dict.fromkeys("abcd", 0.0), "e": 0.001})
    assert found is not None
    assert (found.standings[0].who, found.standings[0].z) == ("e", MOST)


def test_a_difference_below_what_the_unit_can_mean_is_none() -> None:
    found = compare("m", {**dict.fromkeys("abcd", 0.0), "e": 0.1}, least=1.0)
    assert found is not None
    assert found.standings[0].z == pytest.approx(0.1)


def test_two_percent_of_the_median_is_agreement() -> None:
    group = spread([100.0, 100.0, 100.0, 100.0, 101.0])
    assert group == Spread(5, 100.0, 2.0)
    assert group.z(101.0) == 0.5


def test_measures_are_ranked_by_their_most_unusual_host() -> None:
    calm, wild = compare("calm", ALIKE), compare("wild", {**ALIKE, "sick": 99.0})
    assert calm is not None and wild is not None
    assert [one.measure for one in most_unusual([calm, wild])] == ["wild", "calm"]


def test_numbers_that_cannot_be_are_left_out() -> None:
    assert compare("m", dict.fromkeys("abcde", 1.7e308)) is None


@given(st.dictionaries(st.text(max_size=3), st.floats(), max_size=30), st.floats(0, 1e6))
def test_any_numbers_have_finite_standings_in_order(values: dict[str, float], least: float) -> None:
    found = compare("m", values, least)
    if found is None:
        return
    z = [abs(one.z) for one in found.standings]
    assert z == sorted(z, reverse=True)
    assert all(math.isfinite(one) and one <= MOST for one in z)
