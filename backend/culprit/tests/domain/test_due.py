"""What becomes of instants that a schedule was due at: each is in exactly one record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from culprit.domain.scheduling import due as module
from culprit.domain.scheduling.due import DueRange, decide_due_times
from hypothesis import given
from hypothesis import strategies as st

START = datetime(2026, 1, 1, tzinfo=UTC)
GRACE = timedelta(minutes=5)


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def test_on_time() -> None:
    result = decide_due_times([at(0), at(60)], at(1), GRACE, catch_up=False)
    assert (result.start, result.caught_up, result.missed, result.next_due) == (at(0), False, None, at(60))


def test_nothing_is_due() -> None:
    assert decide_due_times([at(60)], at(1), GRACE, catch_up=True).next_due == at(60)
    assert decide_due_times([], at(1), GRACE, catch_up=True).next_due is None


def test_a_short_absence_fires_the_newest_and_counts_the_rest() -> None:
    result = decide_due_times(map(at, range(10)), at(4.5), GRACE, catch_up=False)
    assert (result.start, result.missed, result.next_due) == (at(4), DueRange(at(0), at(3), 4), at(5))


@pytest.mark.parametrize("catch_up", [True, False])
def test_decide_due_times_starts_single_capture_after_long_absence(catch_up: bool) -> None:
    result = decide_due_times(map(at, range(0, 6 * 60 + 1, 60)), at(5 * 60 + 30), GRACE, catch_up=catch_up)
    assert result.next_due == at(360)
    if catch_up:
        assert (result.start, result.caught_up, result.missed) == (at(300), True, DueRange(at(0), at(240), 5))
    else:
        assert (result.start, result.missed) == (None, DueRange(at(0), at(300), 6))


@given(
    steps=st.lists(st.integers(1, 50), min_size=1, max_size=60),
    now=st.integers(-10, 3000),
    tolerance=st.integers(0, 60),
    together=st.integers(1, 20),
    catch_up=st.booleans(),
)
def test_decide_due_times_reports_each_instant_once(
    steps: list[int], now: int, tolerance: int, together: int, catch_up: bool
) -> None:
    instants = [at(sum(steps[: n + 1])) for n in range(len(steps))]
    left, reported, fired = instants, [], 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_TOGETHER", together)
        while left and left[0] <= at(now):
            result = decide_due_times(left, at(now), timedelta(minutes=tolerance), catch_up=catch_up)
            if result.missed is not None:
                span = [item for item in left if result.missed.first <= item <= result.missed.last]
                assert len(span) == result.missed.count
                reported += span
            if result.start is not None:
                reported.append(result.start)
                fired += 1
            left = [item for item in left if result.next_due is not None and item >= result.next_due]
    assert reported == [instant for instant in instants if instant <= at(now)]
    assert fired <= 1
