"""When cron fields are due, against another way to work it out, and on the days on which clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from culprit.domain.scheduling.cron import (
    MAX_LENGTH,
    get_zone,
    iter_due_times,
    normalize_fields,
    resolve_local_time,
)
from culprit.tests.support import cron_oracle
from hypothesis import given, settings
from hypothesis import strategies as st

#: Zones with changes at midnight, of half an hour, of a whole day, at one minute past; and years in which they happen.
PLACES = (
    ("Europe/Berlin", 2025), ("America/New_York", 2026), ("America/Santiago", 2025), ("Asia/Beirut", 2022),
    ("Australia/Lord_Howe", 2025), ("Pacific/Apia", 2011), ("America/St_Johns", 2010), ("Africa/Casablanca", 2025),
    ("Asia/Kolkata", 2025), ("Asia/Pyongyang", 2018), ("America/Sao_Paulo", 2018), ("Antarctica/Troll", 2025),
)  # fmt: skip
FIELDS = (
    "*/30 0-4 * * *",
    "30 2 * * *",
    "5-55/10 1-3 * * 0,6",
    "17 */5 13 * 5",
    "59 23 31 * *",
    "0 0,2,3 * 3,10 *",
)


@pytest.mark.parametrize(("place", "year"), PLACES)
def test_iter_due_times_matches_wall_clock_for_a_year(place: str, year: int) -> None:
    zone = get_zone(place)
    start = datetime(year, 1, 1, tzinfo=UTC)
    end = start + timedelta(days=366)
    clock = cron_oracle.Clock(zone, start, end)
    for fields in FIELDS:
        expected = [at for at in cron_oracle.due(fields, clock) if at > start]
        results = []
        for item in iter_due_times(normalize_fields(fields), zone, start):
            if item.at >= end:
                break
            results.append(item.at)
        assert results == expected, fields


def format_due_times(fields: str, place: str, day: str, count: int = 2) -> list[tuple[str, str, str]]:
    start = datetime.fromisoformat(f"{day}T00:00:00+00:00")
    result = islice(iter_due_times(normalize_fields(fields), get_zone(place), start), count)
    return [(f"{item.at:%d %H:%M}", f"{item.local_time:%d %H:%M}", item.kind) for item in result]


def test_a_time_that_is_skipped_is_due_once_when_the_clock_goes_on() -> None:
    assert format_due_times("30 2 * * *", "Europe/Berlin", "2025-03-30") == [
        ("30 01:00", "30 02:30", "gap"),
        ("31 00:30", "31 02:30", "plain"),
    ]
    assert format_due_times("*/10 2 * * *", "Europe/Berlin", "2025-03-30")[1] == (
        "31 00:00",
        "31 02:00",
        "plain",
    )
    assert format_due_times("0 12 30 * *", "Pacific/Apia", "2011-12-30", 1) == [
        ("30 10:00", "30 12:00", "gap")
    ]


def test_a_time_that_is_there_twice_is_due_the_first_time() -> None:
    assert format_due_times("30 2 * * *", "Europe/Berlin", "2025-10-26") == [
        ("26 00:30", "26 02:30", "overlap"),
        ("27 01:30", "27 02:30", "plain"),
    ]
    second = datetime(2025, 10, 26, 1, 10, tzinfo=UTC)  # 02:10 for the second time
    assert next(iter_due_times("30 2 * * *", get_zone("Europe/Berlin"), second)).at.day == 27


def test_iter_due_times_does_not_depend_on_start() -> None:
    zone = get_zone("America/New_York")
    start = datetime(2025, 10, 31, tzinfo=UTC)
    every = [item.at for item in islice(iter_due_times("*/20 * * * *", zone, start), 400)]
    for before, after in zip(every, every[1:], strict=False):
        for seconds in (0, 1, 599):
            at = before + timedelta(seconds=seconds)
            assert next(iter_due_times("*/20 * * * *", zone, at)).at == after


@settings(max_examples=60)
@given(
    place=st.sampled_from([place for place, _ in PLACES]),
    local_time=st.datetimes(datetime(2005, 1, 1), datetime(2036, 1, 1)),
)
def test_an_instant_shows_its_time_or_lies_behind_a_gap(place: str, local_time: datetime) -> None:
    zone = get_zone(place)
    local_time = local_time.replace(microsecond=0)
    item = resolve_local_time(local_time, zone)
    displayed = item.at.astimezone(zone).replace(tzinfo=None)
    if item.kind == "gap":
        before = (item.at - timedelta(seconds=1)).astimezone(zone).replace(tzinfo=None)
        assert before < local_time < displayed
    else:
        assert displayed == local_time


@pytest.mark.parametrize(
    "fields",
    ["", "* * * *", "* * * * * *", "61 * * * *", "* * * * MON#9", "a b c d e", "*/0 * * * *", "0 0 31 2 *", "5-1 * * * *", "@reboot", "\u00b2 * * * *", "0 0 * * " + "1," * MAX_LENGTH + "1"],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(fields: str) -> None:
    with pytest.raises(ValueError):
        normalize_fields(fields)


def test_normalize_fields_reduces_single_value_range() -> None:
    assert normalize_fields("15-15/3 09-9/2 */2 1-6/2,jan-JAN/3 5-5/2") == "15 09 */2 1-6/2,jan 5"
    assert [at for at, _, _ in format_due_times("0 9-9/2 * * *", "UTC", "2026-01-01")] == [
        "01 09:00",
        "02 09:00",
    ]


def test_fields_that_were_stored_before_are_read_alike() -> None:
    result = islice(iter_due_times("0 9-9/2 * * *", get_zone("UTC"), datetime(2026, 1, 1, tzinfo=UTC)), 2)
    assert [f"{item.at:%d %H}" for item in result] == ["01 09", "02 09"]
    with pytest.raises(ValueError):
        next(iter_due_times("no cron at all here", get_zone("UTC"), datetime(2026, 1, 1, tzinfo=UTC)))


def test_names_and_short_forms() -> None:
    assert normalize_fields("@Daily") == "0 0 * * *"
    assert normalize_fields("  0  4 * jan mon-fri ") == "0 4 * jan mon-fri"
    assert (
        list(islice(iter_due_times("0 0 30 2 1", get_zone("UTC"), datetime(2025, 1, 1, tzinfo=UTC)), 1))[
            0
        ].at.month
        == 2
    )


@pytest.mark.parametrize(
    "name", ["", "Mars/Phobos", "../../etc/passwd", "/etc/localtime", "localtime", "right/UTC", "posixrules"]
)
def test_get_zone_rejects_unlisted_zone(name: str) -> None:
    with pytest.raises(ValueError):
        get_zone(name)
