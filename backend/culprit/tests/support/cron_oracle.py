"""Another answer to the question when cron fields are due: every minute of the wall clock, one after another.

It shares nothing with `culprit.core.cron`: no cronsim, no search for the end of a gap. Fields may hold numbers, stars,
ranges, lists and steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

MINUTE = 60
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


class Clock:
    """The wall clock of a zone in whole minutes, for each minute of UTC from `start` to `end`."""

    def __init__(self, zone: ZoneInfo, start: datetime, end: datetime) -> None:
        first = int((start - EPOCH).total_seconds()) // MINUTE
        last = int((end - EPOCH).total_seconds()) // MINUTE
        self.utc = np.arange(first, last, dtype=np.int64)
        offsets = np.empty(len(self.utc), dtype=np.int64)
        # An offset holds for hours at least: only where two hours differ each minute is asked for.
        step = 60
        marks = [*range(0, len(self.utc), step), len(self.utc)]
        for low, high in zip(marks, marks[1:], strict=False):
            at_low, at_high = offset(zone, first + low), offset(zone, first + high)
            if at_low == at_high:
                offsets[low:high] = at_low
            else:
                offsets[low:high] = [offset(zone, first + low + n) for n in range(high - low)]
        self.wall = self.utc + offsets


def offset(zone: ZoneInfo, minute: int) -> int:
    """Minutes east of UTC."""
    told = (EPOCH + timedelta(minutes=minute)).astimezone(zone).utcoffset()
    assert told is not None and told.total_seconds() % MINUTE == 0
    return int(told.total_seconds()) // MINUTE


def members(text: str, low: int, high: int) -> set[int]:
    """The numbers that one field names."""
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            begin, end = low, high
        elif "-" in span:
            begin, end = map(int, span.split("-"))
        else:
            begin = int(span)
            end = high if step else begin
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def matching(fields: str, wall: np.ndarray) -> np.ndarray:
    """Which of these minutes of a wall clock the fields name."""
    minute, hour, day, month, weekday = (
        members(text, low, high) for text, (low, high) in zip(fields.split(), RANGES, strict=True)
    )
    days = wall // 1440
    known = {int(one): date.fromordinal(719_163 + int(one)) for one in np.unique(days)}
    stars = [text.startswith("*") for text in (fields.split()[2], fields.split()[4])]

    def fits(one: date) -> bool:
        by_day, by_weekday = one.day in day, bool({one.isoweekday(), one.isoweekday() % 7} & weekday)
        both = by_day and by_weekday if any(stars) else by_day or by_weekday
        return one.month in month and both

    fitting = {one for one, told in known.items() if fits(told)}
    in_day = np.isin(days, np.fromiter(fitting, dtype=np.int64, count=len(fitting)))
    of_day = wall % 1440
    return in_day & np.isin(of_day // 60, list(hour)) & np.isin(of_day % 60, list(minute))


def due(fields: str, clock: Clock) -> Iterator[datetime]:
    """When the fields are due: each minute of the wall clock once, skipped ones as soon as it goes on."""
    wall, utc = clock.wall, clock.utc
    highest = np.maximum.accumulate(wall)
    fresh = np.concatenate([[True], wall[1:] > highest[:-1]])
    named = matching(fields, wall) & fresh
    for at in np.flatnonzero(fresh[1:] & (wall[1:] > highest[:-1] + 1)) + 1:
        skipped = np.arange(highest[at - 1] + 1, wall[at], dtype=np.int64)
        named[at] |= bool(matching(fields, skipped).any())
    for one in utc[named]:
        yield EPOCH + timedelta(minutes=int(one))
