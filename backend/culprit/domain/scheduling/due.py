"""What becomes of the instants that a schedule was due at: the newest may fire, those before it were missed.

A scheduler that was away finds many at once. They are never worked off one after another: whatever was missed is one
record that says how many there were and from when to when, and at most one capture is started for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

#: Due instants that one record stands for at most: what comes after them is the next record.
MAX_TOGETHER = 10_000


@dataclass(frozen=True, slots=True)
class Span:
    """Due instants that are recorded together: the first, the last, and how many there are."""

    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True)
class Settled:
    """`fires` is the instant that a capture is started for; `caught_up` says that it comes late, by choice.

    `missed` are those before it, or all where nothing fires. `next_due` is None where there is none any more.
    """

    fires: datetime | None
    caught_up: bool
    missed: Span | None
    next_due: datetime | None


def settle(due: Iterable[datetime], at: datetime, grace: timedelta, *, catch_up: bool) -> Settled:
    """Decide about all of `due` (in order) up to `at`. Late by more than `grace` fires only to `catch_up`."""
    first = before = last = None
    count = 0
    following = None
    for one in due:
        if one > at or count == MAX_TOGETHER:
            following = one
            break
        first, before, last = first or one, last, one
        count += 1
    if first is None or last is None:
        return Settled(None, False, None, following)
    more_to_come = following is not None and following <= at
    late = at - last > grace
    if more_to_come or (late and not catch_up):
        return Settled(None, False, Span(first, last, count), following)
    missed = Span(first, before, count - 1) if before is not None else None
    return Settled(last, late, missed, following)
