"""When maintenance is: one span of time, or times that begin again and again by cron fields on the clock of a zone.

A window lasts from its first instant to its last. One that recurs holds only at its times: each begins where a schedule
with these fields would be due, gaps and overlaps of the clock included, and lasts so many minutes of elapsed time. A
clock that is put forward may thus let one time run into the next; they are one then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

from culprit.core.cron import Kind, instants

#: So many beginnings are looked at for the two that are closest, within the 28 years after which days of the week and
#: of the month go together as before; fields as people write them repeat long before.
LOOKED_AT = 2000
_SOME_DAY = datetime(2023, 12, 31, 23, 59, tzinfo=UTC)
_AS_BEFORE = datetime(2052, 3, 1, tzinfo=UTC)
_JUST_BEFORE = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Begins by five cron fields on the clock of a zone, and lasts for `length` each time."""

    fields: str
    zone: ZoneInfo
    length: timedelta


@dataclass(frozen=True, slots=True)
class Time:
    """Maintenance from `start` until `end`; `kind` says what the clock of the zone made of its beginning."""

    start: datetime
    end: datetime
    kind: Kind = "plain"


def times(
    first: datetime, last: datetime | None, recurs: Recurrence | None, after: datetime
) -> Iterator[Time]:
    """Those times of a window that end later than `after`, in order. Without a recurrence, `last` is its end."""
    if recurs is None:
        if last is not None and last > after:
            yield Time(first, last)
        return
    for found in instants(recurs.fields, recurs.zone, max(first - _JUST_BEFORE, after - recurs.length)):
        if last is not None and found.at >= last:
            return
        end = found.at + recurs.length
        end = end if last is None else min(end, last)
        if end > after:
            yield Time(found.at, end, found.kind)


def least_apart(fields: str) -> timedelta | None:
    """How far the two closest beginnings are apart on a clock that is never changed; None where there is one only."""
    begins = takewhile(lambda one: one.at < _AS_BEFORE, instants(fields, ZoneInfo("UTC"), _SOME_DAY))
    found = islice(begins, LOOKED_AT)
    return min((later.at - one.at for one, later in pairwise(found)), default=None)


class Ahead:
    """The times of a window, worked out only as far ahead as somebody asks."""

    def __init__(self, found: Iterator[Time]) -> None:
        self._more = found
        self._starts: list[datetime] = []
        self._ends: list[datetime] = []

    def until(self, at: datetime) -> datetime | None:
        """When the time ends that holds at `at`; None where none does."""
        while (not self._starts or self._starts[-1] <= at) and (one := next(self._more, None)) is not None:
            self._starts.append(one.start)
            self._ends.append(one.end)
        place = bisect_right(self._starts, at)
        return self._ends[place - 1] if place and at < self._ends[place - 1] else None
