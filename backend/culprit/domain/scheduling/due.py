"""Decide about the due times of a schedule: the newest may start a capture, earlier ones are missed.

A scheduler that was offline finds several due times at once. All missed ones are one record with their
number, first and last time; at most one capture starts for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

#: Maximum number of due times in one record; later ones are in the next record.
MAX_TOGETHER = 10_000


@dataclass(frozen=True, slots=True)
class DueRange:
    """Due times that are recorded together: first, last and number."""

    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True)
class DueDecision:
    """Decision about due times. `start` starts a capture; `caught_up` means that it starts late on purpose.

    `missed` are the earlier ones, or all if none starts. `next_due` is None if there is no further due time.
    """

    start: datetime | None
    caught_up: bool
    missed: DueRange | None
    next_due: datetime | None


def decide_due_times(
    due: Iterable[datetime], at: datetime, tolerance: timedelta, *, catch_up: bool
) -> DueDecision:
    """Decide about all of `due` (in order) up to `at`. Later than `tolerance` starts only with `catch_up`."""
    first = before = last = None
    count = 0
    following = None
    for item in due:
        if item > at or count == MAX_TOGETHER:
            following = item
            break
        first, before, last = first or item, last, item
        count += 1
    if first is None or last is None:
        return DueDecision(None, False, None, following)
    more_to_come = following is not None and following <= at
    late = at - last > tolerance
    if more_to_come or (late and not catch_up):
        return DueDecision(None, False, DueRange(first, last, count), following)
    missed = DueRange(first, before, count - 1) if before is not None else None
    return DueDecision(last, late, missed, following)
