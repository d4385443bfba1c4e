"""Compute maintenance times: one span, or times that recur by cron fields in the local time of a zone.

A window lasts from its first to its last instant. A recurring window holds only at its times. Each begins
where a schedule with these fields would be due, including gaps and overlaps, and lasts a number of elapsed
minutes. If clocks are put forward, one time can overlap the next; both count as one then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

from culprit.domain.scheduling.cron import Kind, iter_due_times

#: Number of begins that are examined for the shortest interval, within the 28 years after which weekdays and
#: dates repeat. Usual fields repeat much earlier.
MAX_BEGINS = 2000
_SOME_DAY = datetime(2023, 12, 31, 23, 59, tzinfo=UTC)
_AS_BEFORE = datetime(2052, 3, 1, tzinfo=UTC)
_JUST_BEFORE = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Begins by five cron fields in the local time of a zone; each time lasts `length`."""

    fields: str
    zone: ZoneInfo
    length: timedelta


@dataclass(frozen=True, slots=True)
class MaintenanceSpan:
    """Maintenance from `start` until `end`; `kind` shows whether it begins in a gap or an overlap."""

    start: datetime
    end: datetime
    kind: Kind = "plain"


def iter_maintenance_times(
    first: datetime, last: datetime | None, recurs: Recurrence | None, after: datetime
) -> Iterator[MaintenanceSpan]:
    """Yield the times that end later than `after`, in order. Without a recurrence, `last` is the end."""
    if recurs is None:
        if last is not None and last > after:
            yield MaintenanceSpan(first, last)
        return
    for result in iter_due_times(
        recurs.fields, recurs.zone, max(first - _JUST_BEFORE, after - recurs.length)
    ):
        if last is not None and result.at >= last:
            return
        end = result.at + recurs.length
        end = end if last is None else min(end, last)
        if end > after:
            yield MaintenanceSpan(result.at, end, result.kind)


def compute_shortest_interval(fields: str) -> timedelta | None:
    """Return the shortest interval between two begins, without clock changes; None if there is only one."""
    begins = takewhile(lambda item: item.at < _AS_BEFORE, iter_due_times(fields, ZoneInfo("UTC"), _SOME_DAY))
    occurrences = islice(begins, MAX_BEGINS)
    return min((later.at - item.at for item, later in pairwise(occurrences)), default=None)


class LazyMaintenance:
    """The times of a window, computed lazily."""

    def __init__(self, times: Iterator[MaintenanceSpan]) -> None:
        self._more = times
        self._starts: list[datetime] = []
        self._ends: list[datetime] = []

    def find_end(self, at: datetime) -> datetime | None:
        """Return the end of the time that holds at `at`, or None."""
        while (not self._starts or self._starts[-1] <= at) and (item := next(self._more, None)) is not None:
            self._starts.append(item.start)
            self._ends.append(item.end)
        place = bisect_right(self._starts, at)
        return self._ends[place - 1] if place and at < self._ends[place - 1] else None
