"""Compute who is on call: shifts of a rotation with their overrides, or shifts of an external source.

A simple rotation hands over at one local time of a zone, every few days from its first day. A shift is an
hour shorter or longer if clocks change within it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from culprit.domain.scheduling.cron import resolve_local_time

ShiftSource = Literal["rotation", "calendar", "override"]
NO_END = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Shift:
    """A person is on call from `start` until `end`. Level 1 is called first."""

    start: datetime
    end: datetime
    who: str
    source: ShiftSource = "rotation"
    level: int = 1


@dataclass(frozen=True, slots=True)
class RotationRule:
    """A rotation. `people` are in order; the first has the shift that begins on `first_day`."""

    people: Sequence[str]
    first_day: date
    days: int
    handover: time
    zone: ZoneInfo

    def begin(self, number: int) -> datetime:
        """Return the begin of shift `number` (0 is the first)."""
        day = self.first_day + timedelta(days=self.days * number)
        return resolve_local_time(datetime.combine(day, self.handover), self.zone).at

    def list_shifts(self, start: datetime, end: datetime) -> list[Shift]:
        """Return the shifts that overlap [start, end); there is none before the first day."""
        if not self.people:
            return []
        day = start.astimezone(self.zone).date()
        number = max(0, (day - self.first_day).days // self.days - 1)
        shifts: list[Shift] = []
        begin = self.begin(number)
        while begin < end:
            following = self.begin(number + 1)
            if following > start:
                shifts.append(Shift(begin, following, self.people[number % len(self.people)]))
            number, begin = number + 1, following
        return shifts


def apply_overrides(shifts: Iterable[Shift], overrides: Iterable[Shift]) -> list[Shift]:
    """Return the shifts with overrides applied; of two simultaneous overrides, the later in the list holds."""
    current = sorted(shifts, key=_sort_key)
    for over in overrides:
        current = [part for shift in current for part in _subtract(shift, over)] + [over]
    return sorted(current, key=_sort_key)


def _subtract(shift: Shift, over: Shift) -> list[Shift]:
    parts = []
    if shift.start < over.start:
        parts.append(replace(shift, end=min(shift.end, over.start)))
    if shift.end > over.end:
        parts.append(replace(shift, start=max(shift.start, over.end)))
    return [part for part in parts if part.start < part.end]


def _sort_key(shift: Shift) -> tuple[datetime, int, str]:
    return (shift.start, shift.level, shift.who)


def find_current_and_next(shifts: Sequence[Shift], at: datetime) -> tuple[list[Shift], Shift | None]:
    """Return who is on call at `at`, the lowest level first, and the next shift of another person."""
    now = sorted(
        (shift for shift in shifts if shift.start <= at < shift.end),
        key=lambda shift: (shift.level, shift.start),
    )
    names = {item.who for item in now}
    later = (shift for shift in shifts if shift.start > at and shift.who not in names)
    return now, min(later, key=_sort_key, default=None)


def find_account(
    who: str, address: str | None, supplied: Mapping[str, str], names: Mapping[str, str]
) -> str | None:
    """Return the account of an external name: the configured one, or one with an equal name or address.

    `given` maps external names or addresses, and `names` lower-case account names, to account IDs. An email
    address matches an account that is named like it, or like the part before the @.
    """
    for key in (who, address):
        if key and key in supplied:
            return supplied[key]
    results = [who.casefold()]
    for mail in (address, who):
        if mail and "@" in mail:
            results += [mail.casefold(), mail.casefold().partition("@")[0]]
    return next((names[item] for item in results if item in names), None)
