"""What becomes of instants that a schedule was due at: each is in exactly one record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from culprit.core import due as module
from culprit.core.due import Span, settle
from hypothesis import given
from hypothesis import strategies as st

START = datetime(2026, 1, 1, tzinfo=UTC)
GRACE = timedelta(minutes=5)


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def test_on_time() -> None:
    found = settle([at(0), at(60)], at(1), GRACE, catch_up=False)
    assert (found.fires, found.caught_up, found.missed, found.next_due) == (at(0), False, None, at(60))


def test_nothing_is_due() -> None:
    assert settle([at(60)], at(1), GRACE, catch_up=True).next_due == at(60)
    assert settle([], at(1), GRACE, catch_up=True).next_due is None


def test_a_short_absence_fires_the_newest_and_counts_the_rest() -> None:
    found = settle(map(at, range(10)), at(4.5), GRACE, catch_up=False)
    assert (found.fires, found.missed, found.next_due) == (at(4), Span(at(0), at(3), 4), at(5))


@pytest.mark.parametrize("catch_up", [True, False])
def test_a_long_absence_is_one_capture_or_none(catch_up: bool) -> None:
    found = settle(map(at, range(0, 6 * 60 + 1, 60)), at(5 * 60 + 30), GRACE, catch_up=catch_up)
    assert found.next_due == at(360)
    if catch_up:
        assert (found.fires, found.caught_up, found.missed) == (at(300), True, Span(at(0), at(240), 5))
    else:
        assert (found.fires, found.missed) == (None, Span(at(0), at(300), 6))


@given(
    steps=st.lists(st.integers(1, 50), min_size=1, max_size=60),
    now=st.integers(-10, 3000),
    grace=st.integers(0, 60),
    together=st.integers(1, 20),
    catch_up=st.booleans(),
)
def test_no_instant_is_lost_or_told_twice(
    steps: list[int], now: int, grace: int, together: int, catch_up: bool
) -> None:
    instants = [at(sum(steps[: n + 1])) for n in range(len(steps))]
    left, told, fired = instants, [], 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_TOGETHER", together)
        while left and left[0] <= at(now):
            found = settle(left, at(now), timedelta(minutes=grace), catch_up=catch_up)
            if found.missed is not None:
                span = [one for one in left if found.missed.first <= one <= found.missed.last]
                assert len(span) == found.missed.count
                told += span
            if found.fires is not None:
                told.append(found.fires)
                fired += 1
            left = [one for one in left if found.next_due is not None and one >= found.next_due]
    assert told == [one for one in instants if one <= at(now)]
    assert fired <= 1
