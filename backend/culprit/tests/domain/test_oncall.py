"""Who is on call: turns that follow each other without a hole, overrides, and accounts behind names."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from culprit.core.cron import zone_of
from culprit.core.oncall import Rotation, Turn, account_of, now_and_next, overridden
from hypothesis import given
from hypothesis import strategies as st

BERLIN = zone_of("Europe/Berlin")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def weekly(people: str = "abc", days: int = 7) -> Rotation:
    return Rotation(list(people), date(2026, 3, 2), days, time(9), BERLIN)  # a Monday


def test_the_hand_over_keeps_to_the_clock_on_the_wall() -> None:
    found = weekly().turns(utc("2026-03-20"), utc("2026-04-02"))
    assert [(one.who, one.start) for one in found] == [
        ("c", utc("2026-03-16T08:00")),
        ("a", utc("2026-03-23T08:00")),
        ("b", utc("2026-03-30T07:00")),  # summer time
    ]
    assert found[1].end - found[1].start == timedelta(days=7, hours=-1)


def test_nobody_is_on_call_before_the_first_day() -> None:
    assert weekly().turns(utc("2026-01-01"), utc("2026-03-01")) == []
    assert weekly("").turns(utc("2026-03-20"), utc("2026-04-02")) == []


@given(
    days=st.integers(1, 30),
    start=st.datetimes(datetime(2026, 3, 3), datetime(2030, 1, 1)),
    hours=st.integers(1, 3000),
)
def test_turns_follow_each_other_without_a_hole(days: int, start: datetime, hours: int) -> None:
    begin = start.replace(tzinfo=UTC)
    end = begin + timedelta(hours=hours)
    found = weekly(days=days).turns(begin, end)
    assert found[0].start <= begin < found[0].end
    assert found[-1].start < end <= found[-1].end
    for one, other in zip(found, found[1:], strict=False):
        assert one.end == other.start
        assert (ord(other.who) - ord(one.who)) % 3 == 1


def test_an_override_takes_out_of_a_turn_what_it_needs() -> None:
    base = [Turn(utc("2026-03-02"), utc("2026-03-09"), "a"), Turn(utc("2026-03-09"), utc("2026-03-16"), "b")]
    first = Turn(utc("2026-03-04"), utc("2026-03-05"), "x", "override")
    second = Turn(utc("2026-03-08"), utc("2026-03-10"), "y", "override")
    assert [(one.who, one.start.day, one.end.day) for one in overridden(base, [first, second])] == [
        ("a", 2, 4), ("x", 4, 5), ("a", 5, 8), ("y", 8, 10), ("b", 10, 16),
    ]  # fmt: skip
    whole = Turn(utc("2026-03-01"), utc("2026-03-20"), "z", "override")
    assert [one.who for one in overridden(base, [first, whole])] == ["z"]


def test_now_and_next() -> None:
    turns = [
        Turn(utc("2026-03-02"), utc("2026-03-09"), "b", level=2),
        Turn(utc("2026-03-02"), utc("2026-03-09"), "a", level=1),
        Turn(utc("2026-03-09"), utc("2026-03-16"), "a", level=1),
        Turn(utc("2026-03-16"), utc("2026-03-23"), "c", level=1),
    ]
    now, following = now_and_next(turns, utc("2026-03-03"))
    assert [one.who for one in now] == ["a", "b"]
    assert following is not None and following.who == "c"
    assert now_and_next(turns, utc("2026-04-01")) == ([], None)


def test_a_name_from_elsewhere_stands_for_an_account() -> None:
    names = {"alice": "1", "bob@example.org": "2"}
    assert account_of("Alice", None, {}, names) == "1"
    assert account_of("A. Smith", "alice@example.org", {}, names) == "1"
    assert account_of("Bob@Example.org", None, {}, names) == "2"
    assert account_of("Carol", "carol@example.org", {"carol@example.org": "3"}, names) == "3"
    assert account_of("On call: nobody", None, {}, names) is None
