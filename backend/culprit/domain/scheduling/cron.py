"""When a schedule is due: five cron fields on the wall clock of a time zone, as instants of UTC.

Each wall-clock time that the fields name is due once. One that the zone skips (clocks are put forward) is due at the
first instant after the gap, and all that fall into one gap are due there together, once. One that the zone has twice
(clocks are put back) is due the first time. The fields are those of Debian's cron, as cronsim reads them: names of
months and days, ranges, lists, steps, `L` and `MON#2`; day of month and day of week are alternatives unless one of
them begins with a star.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

Kind = Literal["plain", "gap", "overlap"]
MAX_LENGTH = 200
FIELDS = 5
SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
#: The calendar of any zone is asked for with this as a beginning, to see whether the fields can be read at all.
_SOME_DAY = datetime(2024, 1, 1)
_WORDS = re.compile(r"[0-9A-Za-z*,/#-]+")
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Instant:
    """`at` in UTC, for the wall-clock time `wall`: in a `gap` there is no such time, in an `overlap` two."""

    at: datetime
    wall: datetime
    kind: Kind


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    # Debian lists the zone of this machine beside the others; a schedule must not depend on where it runs.
    return frozenset(available_timezones() - {"localtime", "Factory"})


def zone_of(name: str) -> ZoneInfo:
    """The zone of an IANA name. ValueError for anything else."""
    if name not in _zones():
        raise ValueError("not a time zone")
    return ZoneInfo(name)


def normal(text: str) -> str:
    """The five fields, one space between them. ValueError where they cannot be read."""
    text = " ".join(text.split())
    text = SHORT.get(text.lower(), text)
    fields = text.split()
    if len(text) > MAX_LENGTH or len(fields) != FIELDS or not all(map(_WORDS.fullmatch, fields)):
        raise ValueError("five fields: minute, hour, day of month, month, day of week")
    _walk(text, _SOME_DAY)
    return _as_meant(text)


def _walk(fields: str, start: datetime) -> CronSim:
    try:
        return CronSim(fields, start)
    except CronSimError as error:
        raise ValueError(str(error)) from None


def _as_meant(fields: str) -> str:
    return " ".join(",".join(map(_alone, field.split(","))) for field in fields.split())


def _alone(part: str) -> str:
    """A range of one without its step: `9-9/2` is 9; cronsim reads it as `9/2`, which is every second one from 9 on."""
    span, step, _ = part.partition("/")
    first, dash, last = span.lower().partition("-")
    same = first == last or (first.isdigit() and last.isdigit() and int(first) == int(last))
    return first if step and dash and same else part


def instants(fields: str, zone: ZoneInfo, after: datetime) -> Iterator[Instant]:
    """Every due instant later than `after` (aware), in order; it ends where the next 50 years have none.

    ValueError where the fields cannot be read.
    """
    last = after.astimezone(UTC)
    # Fields that were stored before `_as_meant` was are read by it, too.
    # Whatever is due later has a later wall-clock time, too: clocks that are put back are due the first time only.
    for wall in _walk(_as_meant(fields), last.astimezone(zone).replace(tzinfo=None)):
        found = first_valid(wall, zone)
        if found.at > last:
            last = found.at
            yield found


def first_valid(wall: datetime, zone: ZoneInfo) -> Instant:
    """When a wall-clock time (naive) is: the first of two, or the first instant after the gap that it falls into."""
    before, after = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if before == after:
        return Instant(before, wall, "plain")
    if before < after:
        return Instant(before, wall, "overlap")
    # In a gap: `after` still has the old offset and `before` has the new one; the change lies between them.
    new = before.astimezone(zone).utcoffset()
    while before - after > _SECOND:
        middle = (after + (before - after) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == new:
            before = middle
        else:
            after = middle
    return Instant(before, wall, "gap")
