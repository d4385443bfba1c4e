"""Who is on call: turns of a rotation, with what overrides them; the same for turns that came from elsewhere.

A simple rotation hands over at one wall-clock time of one zone, every so many days from its first day on: turns are an
hour shorter or longer where clocks change within them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from culprit.core.cron import first_valid

How = Literal["rotation", "calendar", "override"]
FOREVER = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Turn:
    """Somebody is on call from `start` until `end`. `level` 1 is who is called first."""

    start: datetime
    end: datetime
    who: str
    how: How = "rotation"
    level: int = 1


@dataclass(frozen=True, slots=True)
class Rotation:
    """`people` in their order; the first has the turn that begins on `first_day`."""

    people: Sequence[str]
    first_day: date
    days: int
    handover: time
    zone: ZoneInfo

    def begin(self, number: int) -> datetime:
        """When turn `number` (0 is the first) begins."""
        day = self.first_day + timedelta(days=self.days * number)
        return first_valid(datetime.combine(day, self.handover), self.zone).at

    def turns(self, start: datetime, end: datetime) -> list[Turn]:
        """Those that overlap [start, end); none before the first day."""
        if not self.people:
            return []
        day = start.astimezone(self.zone).date()
        number = max(0, (day - self.first_day).days // self.days - 1)
        found: list[Turn] = []
        begin = self.begin(number)
        while begin < end:
            following = self.begin(number + 1)
            if following > start:
                found.append(Turn(begin, following, self.people[number % len(self.people)]))
            number, begin = number + 1, following
        return found


def overridden(turns: Iterable[Turn], overrides: Iterable[Turn]) -> list[Turn]:
    """The turns with what overrides them laid over them; of two overrides at once the later in the list holds."""
    found = sorted(turns, key=_order)
    for over in overrides:
        found = [part for turn in found for part in _without(turn, over)] + [over]
    return sorted(found, key=_order)


def _without(turn: Turn, over: Turn) -> list[Turn]:
    parts = []
    if turn.start < over.start:
        parts.append(replace(turn, end=min(turn.end, over.start)))
    if turn.end > over.end:
        parts.append(replace(turn, start=max(turn.start, over.end)))
    return [one for one in parts if one.start < one.end]


def _order(turn: Turn) -> tuple[datetime, int, str]:
    return (turn.start, turn.level, turn.who)


def now_and_next(turns: Sequence[Turn], at: datetime) -> tuple[list[Turn], Turn | None]:
    """Who is on call at `at`, those called first before the others; and the next turn of somebody else."""
    now = sorted((one for one in turns if one.start <= at < one.end), key=lambda one: (one.level, one.start))
    names = {one.who for one in now}
    later = (one for one in turns if one.start > at and one.who not in names)
    return now, min(later, key=_order, default=None)


def account_of(
    who: str, address: str | None, given: Mapping[str, str], names: Mapping[str, str]
) -> str | None:
    """The account behind a name that came from elsewhere: as somebody has said, else by an equal name or address.

    `given` maps names or addresses there, `names` account names in lower case, to ids of accounts. An e-mail address
    stands for an account that is named by all of it or by what is before the @.
    """
    for wanted in (who, address):
        if wanted and wanted in given:
            return given[wanted]
    found = [who.casefold()]
    for mail in (address, who):
        if mail and "@" in mail:
            found += [mail.casefold(), mail.casefold().partition("@")[0]]
    return next((names[one] for one in found if one in names), None)
