"""Who is on call: shifts that follow each other without a hole, overrides, and accounts behind names."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from culprit.domain.scheduling.cron import get_zone
from culprit.domain.scheduling.rotations import (
    RotationRule,
    Shift,
    apply_overrides,
    find_account,
    find_current_and_next,
)
from hypothesis import given
from hypothesis import strategies as st

BERLIN = get_zone("Europe/Berlin")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def weekly(people: str = "abc", days: int = 7) -> RotationRule:
    return RotationRule(list(people), date(2026, 3, 2), days, time(9), BERLIN)  # a Monday


def test_the_hand_over_keeps_to_the_clock_on_the_wall() -> None:
    result = weekly().list_shifts(utc("2026-03-20"), utc("2026-04-02"))
    assert [(item.who, item.start) for item in result] == [
        ("c", utc("2026-03-16T08:00")),
        ("a", utc("2026-03-23T08:00")),
        ("b", utc("2026-03-30T07:00")),  # summer time
    ]
    assert result[1].end - result[1].start == timedelta(days=7, hours=-1)


def test_shifts_are_empty_before_first_day() -> None:
    assert weekly().list_shifts(utc("2026-01-01"), utc("2026-03-01")) == []
    assert weekly("").list_shifts(utc("2026-03-20"), utc("2026-04-02")) == []


@given(
    days=st.integers(1, 30),
    start=st.datetimes(datetime(2026, 3, 3), datetime(2030, 1, 1)),
    hours=st.integers(1, 3000),
)
def test_shifts_follow_each_other_without_a_hole(days: int, start: datetime, hours: int) -> None:
    begin = start.replace(tzinfo=UTC)
    end = begin + timedelta(hours=hours)
    result = weekly(days=days).list_shifts(begin, end)
    assert result[0].start <= begin < result[0].end
    assert result[-1].start < end <= result[-1].end
    for item, other in zip(result, result[1:], strict=False):
        assert item.end == other.start
        assert (ord(other.who) - ord(item.who)) % 3 == 1


def test_an_override_takes_out_of_a_turn_what_it_needs() -> None:
    base = [
        Shift(utc("2026-03-02"), utc("2026-03-09"), "a"),
        Shift(utc("2026-03-09"), utc("2026-03-16"), "b"),
    ]
    first = Shift(utc("2026-03-04"), utc("2026-03-05"), "x", "override")
    second = Shift(utc("2026-03-08"), utc("2026-03-10"), "y", "override")
    assert [(item.who, item.start.day, item.end.day) for item in apply_overrides(base, [first, second])] == [
        ("a", 2, 4), ("x", 4, 5), ("a", 5, 8), ("y", 8, 10), ("b", 10, 16),
    ]  # fmt: skip
    whole = Shift(utc("2026-03-01"), utc("2026-03-20"), "z", "override")
    assert [item.who for item in apply_overrides(base, [first, whole])] == ["z"]


def test_now_and_next() -> None:
    shifts = [
        Shift(utc("2026-03-02"), utc("2026-03-09"), "b", level=2),
        Shift(utc("2026-03-02"), utc("2026-03-09"), "a", level=1),
        Shift(utc("2026-03-09"), utc("2026-03-16"), "a", level=1),
        Shift(utc("2026-03-16"), utc("2026-03-23"), "c", level=1),
    ]
    now, following = find_current_and_next(shifts, utc("2026-03-03"))
    assert [item.who for item in now] == ["a", "b"]
    assert following is not None and following.who == "c"
    assert find_current_and_next(shifts, utc("2026-04-01")) == ([], None)


def test_find_account_maps_external_name() -> None:
    names = {"alice": "1", "bob@example.org": "2"}
    assert find_account("Alice", None, {}, names) == "1"
    assert find_account("A. Smith", "alice@example.org", {}, names) == "1"
    assert find_account("Bob@Example.org", None, {}, names) == "2"
    assert find_account("Carol", "carol@example.org", {"carol@example.org": "3"}, names) == "3"
    assert find_account("On call: none", None, {}, names) is None
