"""Compute due times of a schedule: five cron fields in the local time of a time zone, as UTC times.

Each local time that the fields name is due once. A time in a gap (clocks are put forward) is due at the first
instant after the gap; all times of one gap are due there together, once. A time in an overlap (clocks are put
back) is due the first time. The fields are those of Debian's cron, as cronsim reads them: names of months and
days, ranges, lists, steps, `L` and `MON#2`; day of month and day of week are alternatives unless one of them
begins with a star.
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
#: Start time for checking whether the fields can be parsed; any zone has it.
_SOME_DAY = datetime(2024, 1, 1)
_WORDS = re.compile(r"[0-9A-Za-z*,/#-]+")
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class DueTime:
    """A due time. `at` is in UTC, for `local_time`: missing that day in a `gap`, twice in an `overlap`."""

    at: datetime
    local_time: datetime
    kind: Kind


@lru_cache(maxsize=1)
def _list_zones() -> frozenset[str]:
    # Debian also lists the zone of this machine; schedules must not depend on the machine.
    return frozenset(available_timezones() - {"localtime", "Factory"})


def get_zone(name: str) -> ZoneInfo:
    """Return the zone of an IANA name. Raises ValueError if there is none."""
    if name not in _list_zones():
        raise ValueError("not a time zone")
    return ZoneInfo(name)


def normalize_fields(text: str) -> str:
    """Return the five fields separated by single spaces. Raises ValueError if they cannot be parsed."""
    text = " ".join(text.split())
    text = SHORT.get(text.lower(), text)
    fields = text.split()
    if len(text) > MAX_LENGTH or len(fields) != FIELDS or not all(map(_WORDS.fullmatch, fields)):
        raise ValueError("five fields: minute, hour, day of month, month, day of week")
    _iter_local_times(text, _SOME_DAY)
    return _fix_single_steps(text)


def _iter_local_times(fields: str, start: datetime) -> CronSim:
    try:
        return CronSim(fields, start)
    except CronSimError as error:
        raise ValueError(str(error)) from None


def _fix_single_steps(fields: str) -> str:
    return " ".join(",".join(map(_remove_single_step, field.split(","))) for field in fields.split())


def _remove_single_step(part: str) -> str:
    """Remove the step of a range of one: `9-9/2` is 9, but cronsim reads it as `9/2`, every second one from 9."""
    span, step, _ = part.partition("/")
    first, dash, last = span.lower().partition("-")
    same = first == last or (first.isdigit() and last.isdigit() and int(first) == int(last))
    return first if step and dash and same else part


def iter_due_times(fields: str, zone: ZoneInfo, after: datetime) -> Iterator[DueTime]:
    """Yield every due time later than `after` (aware), in order, until none follows within 50 years.

    Raises ValueError if the fields cannot be parsed.
    """
    last = after.astimezone(UTC)
    # Fields that were stored earlier are normalized here too. A later due time has a later local time,
    # because an overlap is due the first time only.
    for local_time in _iter_local_times(
        _fix_single_steps(fields), last.astimezone(zone).replace(tzinfo=None)
    ):
        result = resolve_local_time(local_time, zone)
        if result.at > last:
            last = result.at
            yield result


def resolve_local_time(local_time: datetime, zone: ZoneInfo) -> DueTime:
    """Return the instant of a local time (naive): the first of two, or the first after the gap."""
    before, after = (local_time.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if before == after:
        return DueTime(before, local_time, "plain")
    if before < after:
        return DueTime(before, local_time, "overlap")
    # In a gap, `after` has the old offset and `before` the new one; the change is between them.
    new = before.astimezone(zone).utcoffset()
    while before - after > _SECOND:
        middle = (after + (before - after) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == new:
            before = middle
        else:
            after = middle
    return DueTime(before, local_time, "gap")
