"""When maintenance is, against every minute of a year, and where times touch, are cut off or run together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from culprit.domain.scheduling.cron import get_zone, iter_due_times, normalize_fields
from culprit.domain.scheduling.maintenance import (
    LazyMaintenance,
    MaintenanceSpan,
    Recurrence,
    compute_shortest_interval,
    iter_maintenance_times,
)
from hypothesis import given, settings
from hypothesis import strategies as st

BERLIN = get_zone("Europe/Berlin")
MINUTE = timedelta(minutes=1)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)).map(lambda at: at.replace(tzinfo=UTC))


def recurs(fields: str, minutes: int, zone: str = "Europe/Berlin") -> Recurrence:
    return Recurrence(normalize_fields(fields), get_zone(zone), minutes * MINUTE)


def format_times(times: list[MaintenanceSpan]) -> list[str]:
    return [f"{time.start:%d %H:%M}-{time.end:%H:%M} {time.kind}" for time in times]


@settings(max_examples=150, deadline=None)
@given(
    fields=st.sampled_from(["30 2 * * *", "0 22 * * fri", "*/45 1-3 * * *", "0 4 1 * *", "0 3 L * *", "15 * * * *"]),
    minutes=st.integers(1, 700),
    zone=st.sampled_from(["Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "UTC"]),
    at=MOMENTS, first=MOMENTS, days=st.none() | st.integers(1, 200), since=st.integers(0, 4000),
)  # fmt: skip
def test_it_holds_exactly_from_a_due_instant_for_its_minutes(
    fields, minutes, zone, at, first, days, since
) -> None:
    last = None if days is None else first + timedelta(days=days)
    rule = recurs(fields, minutes, zone)
    begins = []
    for item in iter_due_times(rule.fields, rule.zone, at - rule.length - timedelta(days=1)):
        if item.at > at:
            break
        begins.append(item.at)
    held = [
        begin
        for begin in begins
        if first <= begin <= at < begin + rule.length and (last is None or at < last)
    ]
    until = LazyMaintenance(iter_maintenance_times(first, last, rule, at - since * MINUTE)).find_end(at)
    expected = max((item + rule.length for item in held), default=None)
    assert until == (expected if last is None or expected is None else min(expected, last))


def test_questions_may_come_in_any_order() -> None:
    rule = recurs("0 * * * *", 10)
    ahead = LazyMaintenance(iter_maintenance_times(NEW_YEAR, None, rule, NEW_YEAR))
    moments = [NEW_YEAR + timedelta(minutes=n) for n in (125, 3, 61, 12, 3000, 5)]
    assert [ahead.find_end(at) is not None for at in moments] == [True, True, True, False, True, True]


def test_iter_maintenance_times_yields_single_span_once() -> None:
    end = NEW_YEAR + timedelta(hours=1)
    assert list(iter_maintenance_times(NEW_YEAR, end, None, NEW_YEAR)) == [MaintenanceSpan(NEW_YEAR, end)]
    assert list(iter_maintenance_times(NEW_YEAR, end, None, end)) == []
    ahead = LazyMaintenance(iter_maintenance_times(NEW_YEAR, end, None, NEW_YEAR))
    assert [ahead.find_end(at) for at in (NEW_YEAR, end - MINUTE, end)] == [end, end, None]


def test_clocks_that_change_move_its_beginning_and_not_its_length() -> None:
    rule = recurs("30 2 * * *", 60)
    spring = list(islice(iter_maintenance_times(NEW_YEAR, None, rule, datetime(2026, 3, 29, tzinfo=UTC)), 2))
    assert format_times(spring) == ["29 01:00-02:00 gap", "30 00:30-01:30 plain"]
    autumn = list(islice(iter_maintenance_times(NEW_YEAR, None, rule, datetime(2026, 10, 25, tzinfo=UTC)), 2))
    assert format_times(autumn) == ["25 00:30-01:30 overlap", "26 01:30-02:30 plain"]
    # 02:30 does not exist: it begins with the next one's first half hour, and both are one.
    ahead = LazyMaintenance(
        iter_maintenance_times(NEW_YEAR, None, recurs("30 * * * *", 45), datetime(2026, 3, 29, tzinfo=UTC))
    )
    assert ahead.find_end(datetime(2026, 3, 29, 1, 40, tzinfo=UTC)) == datetime(
        2026, 3, 29, 2, 15, tzinfo=UTC
    )


def test_nothing_begins_outside_its_span_and_what_is_on_ends_with_it() -> None:
    first, last = NEW_YEAR + timedelta(hours=2, minutes=30), NEW_YEAR + timedelta(days=1, hours=2, minutes=20)
    result = list(iter_maintenance_times(first, last, recurs("0 2 * * *", 60, "UTC"), NEW_YEAR))
    assert format_times(result) == ["02 02:00-02:20 plain"]
    assert list(iter_maintenance_times(first, last, recurs("0 2 * * *", 60, "UTC"), last)) == []
    exactly = NEW_YEAR + timedelta(hours=2)
    assert (
        next(iter_maintenance_times(exactly, None, recurs("0 2 * * *", 60, "UTC"), NEW_YEAR)).start == exactly
    )


@pytest.mark.parametrize(
    ("fields", "hours"),
    [("0 * * * *", 1), ("0 0 * * *", 24), ("0 0 1 * *", 28 * 24), ("0 23,0 * * *", 1), ("0 0 29 2 *", 1461 * 24),
     ("*/20 0 1 1 *", 1 / 3), ("0 22 * * 5,6", 24)],
)  # fmt: skip
def test_the_closest_beginnings(fields: str, hours: float) -> None:
    assert compute_shortest_interval(fields) == timedelta(hours=hours)
    results = [item.at for item in islice(iter_due_times(fields, get_zone("UTC"), NEW_YEAR), 12)]
    assert all(later - item >= timedelta(hours=hours) for item, later in pairwise(results))
