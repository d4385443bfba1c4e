"""Independent implementation of cron due times: check every minute of the wall clock.

It shares no code with `culprit.domain.scheduling.cron`. Fields may contain numbers, stars, ranges, lists and
steps.
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
    """Wall clock of a zone in whole minutes, for each minute of UTC from `start` to `end`."""

    def __init__(self, zone: ZoneInfo, start: datetime, end: datetime) -> None:
        first = int((start - EPOCH).total_seconds()) // MINUTE
        last = int((end - EPOCH).total_seconds()) // MINUTE
        self.utc = np.arange(first, last, dtype=np.int64)
        offsets = np.empty(len(self.utc), dtype=np.int64)
        # An offset is constant for hours: only between two different hours each minute is computed.
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
    """Return minutes east of UTC."""
    reported = (EPOCH + timedelta(minutes=minute)).astimezone(zone).utcoffset()
    assert reported is not None and reported.total_seconds() % MINUTE == 0
    return int(reported.total_seconds()) // MINUTE


def members(text: str, low: int, high: int) -> set[int]:
    """Return the numbers of one field."""
    result: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            begin, end = low, high
        elif "-" in span:
            begin, end = map(int, span.split("-"))
        else:
            begin = int(span)
            end = high if step else begin
        result |= set(range(begin, end + 1, int(step or 1)))
    return result


def matching(fields: str, wall: np.ndarray) -> np.ndarray:
    """Return which minutes of a wall clock match the fields."""
    minute, hour, day, month, weekday = (
        members(text, low, high) for text, (low, high) in zip(fields.split(), RANGES, strict=True)
    )
    days = wall // 1440
    known = {int(item): date.fromordinal(719_163 + int(item)) for item in np.unique(days)}
    stars = [text.startswith("*") for text in (fields.split()[2], fields.split()[4])]

    def fits(item: date) -> bool:
        by_day, by_weekday = item.day in day, bool({item.isoweekday(), item.isoweekday() % 7} & weekday)
        both = by_day and by_weekday if any(stars) else by_day or by_weekday
        return item.month in month and both

    fitting = {item for item, reported in known.items() if fits(reported)}
    in_day = np.isin(days, np.fromiter(fitting, dtype=np.int64, count=len(fitting)))
    of_day = wall % 1440
    return in_day & np.isin(of_day // 60, list(hour)) & np.isin(of_day % 60, list(minute))


def due(fields: str, clock: Clock) -> Iterator[datetime]:
    """Return the due times:

    each minute of the wall clock once, skipped ones as soon as the clock continues.
    """
    wall, utc = clock.wall, clock.utc
    highest = np.maximum.accumulate(wall)
    fresh = np.concatenate([[True], wall[1:] > highest[:-1]])
    named = matching(fields, wall) & fresh
    for at in np.flatnonzero(fresh[1:] & (wall[1:] > highest[:-1] + 1)) + 1:
        skipped = np.arange(highest[at - 1] + 1, wall[at], dtype=np.int64)
        named[at] |= bool(matching(fields, skipped).any())
    for item in utc[named]:
        yield EPOCH + timedelta(minutes=int(item))
