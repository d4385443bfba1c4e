"""Typical ranges: order of days and gaps change nothing, and too few days give no range."""

import numpy as np
from culprit.domain.series.typical_range import (
    DAYS,
    MIN_DAYS,
    MIN_VALUES,
    WINDOW_HALF_S,
    DaySeries,
    compute_typical_range,
    list_instants,
)
from hypothesis import given
from hypothesis import strategies as st

NOON = 1_790_000_000.0
VALUES = st.one_of(st.just(float("nan")), st.floats(-1e9, 1e9, allow_nan=False))


@st.composite
def earlier_days(draw):
    """Days on one grid around noon, some with holes, some with nothing."""
    results = []
    for _ in range(draw(st.integers(0, DAYS))):
        values = draw(st.lists(VALUES, max_size=30))
        first = draw(st.integers(-4000, 3000))
        results.append(DaySeries(NOON + first + 60.0 * np.arange(len(values)), np.array(values, float)))
    return results


AT = NOON + np.array([-1800.0, 0.0, 60.0, 5400.0])


def same(a, b) -> None:
    assert a.days.tolist() == b.days.tolist()
    for plane in ("low", "median", "high"):
        np.testing.assert_allclose(getattr(a, plane), getattr(b, plane), rtol=1e-9, atol=1e-6)


@given(earlier_days(), st.randoms())
def test_the_order_of_days_and_of_values_is_nothing(days, random) -> None:
    mixed = []
    for day in random.sample(days, len(days)):
        order = random.sample(range(len(day.t_s)), len(day.t_s))
        mixed.append(DaySeries(day.t_s[order], day.values[order]))
    same(compute_typical_range(AT, days), compute_typical_range(AT, mixed))


@given(earlier_days())
def test_a_value_that_is_none_is_as_if_it_were_not_there(days) -> None:
    there = [np.isfinite(day.values) for day in days]
    without = [DaySeries(day.t_s[keep], day.values[keep]) for day, keep in zip(days, there, strict=True)]
    same(compute_typical_range(AT, days), compute_typical_range(AT, without))


@given(earlier_days())
def test_it_lies_within_what_was_measured_and_needs_days(days) -> None:
    typical_range = compute_typical_range(AT, days)
    for i, at in enumerate(AT.tolist()):
        near = [
            day.values[(np.abs(day.t_s - at) <= WINDOW_HALF_S) & np.isfinite(day.values)].tolist()
            for day in days
        ]
        near = [values for values in near if len(values) >= MIN_VALUES]
        assert typical_range.days[i] == len(near)
        band = [typical_range.low[i], typical_range.median[i], typical_range.high[i]]
        if len(near) < MIN_DAYS:
            assert np.isnan(band).all(), "too few days are no data, and never zero"
            continue
        pooled = [value for values in near for value in values]
        slack = 1e-9 * max(1.0, *map(abs, pooled))
        assert min(pooled) - slack <= band[0] <= band[1] + slack <= band[2] + 2 * slack
        assert band[2] <= max(pooled) + slack


@given(earlier_days(), st.integers(-400, 400))
def test_whole_days_move_everything_alike(days, by) -> None:
    moved = [DaySeries(day.t_s + by * 86_400.0, day.values) for day in days]
    same(compute_typical_range(AT, days), compute_typical_range(AT + by * 86_400.0, moved))


def test_compute_typical_range_of_hundred_values() -> None:
    grid = NOON + np.arange(-1800.0, 1801.0, 36.0)
    days = [DaySeries(grid, np.arange(101.0)) for _ in range(MIN_DAYS)]
    typical_range = compute_typical_range(np.array([NOON]), days)
    assert (typical_range.low[0], typical_range.median[0], typical_range.high[0], typical_range.days[0]) == (
        10.0,
        50.0,
        90.0,
        3,
    )
    assert compute_typical_range(np.array([NOON]), days[1:]).days[0] == 2


@given(st.floats(0, 1e5), st.floats(1, 1e3))
def test_instants_begin_and_end_with_the_span(span, step) -> None:
    instants = list_instants(NOON, NOON + span, step)
    assert instants[0] == NOON and np.isclose(instants[-1], NOON + span, rtol=0, atol=1e-6)
    assert (np.diff(instants) > 0).all() and (np.diff(instants) <= step + 1e-6).all()
