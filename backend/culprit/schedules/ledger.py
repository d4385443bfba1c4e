"""What became of each due instant: the rows that neither two schedulers nor an absent one can get wrong.

Whoever writes here holds the schedule's row locked, and moves `next_due` on in the same transaction. So each due
instant ends in exactly one row; the unique key of the table would refuse a second one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.core.cron import Instant, first_valid, instants, zone_of
from culprit.core.due import Settled, Span, settle
from culprit.kit.uuid7 import uuid7
from culprit.models import Schedule, ScheduleFiring

Json = dict[str, Any]


def to_come(one: Schedule, after: datetime) -> Iterator[Instant]:
    """When a schedule is due later than `after`, by its own fields. ValueError for a zone that is known no more."""
    zone = zone_of(one.zone)
    if one.cron is not None:
        return instants(one.cron, zone, after)
    assert one.wall is not None
    found = first_valid(one.wall, zone)
    return iter([found] if found.at > after else [])


def settled(
    one: Schedule, at: datetime, *, catch_up: bool | None = None, grace: timedelta | None = None
) -> Settled:
    """What is to become of everything that an active schedule is due at until `at`. ValueError as `to_come`."""
    assert one.next_due is not None
    due = chain([one.next_due.astimezone(UTC)], (found.at for found in to_come(one, one.next_due)))
    return settle(
        due,
        at,
        timedelta(seconds=one.grace_s) if grace is None else grace,
        catch_up=one.catch_up == "one" if catch_up is None else catch_up,
    )


def move_on(one: Schedule, next_due: datetime | None) -> None:
    """It is due at that instant next, or never again."""
    one.next_due = next_due
    one.state = "done" if next_due is None else "active"


def row(  # noqa: PLR0917 - the columns of a row
    one: Schedule,
    span: Span,
    state: str,
    reason: Json | None,
    at: datetime,
    by: str,
    capture_id: UUID | None = None,
) -> Json:
    """What became of due instants, as `write` takes it."""
    return {
        "id": uuid7(),
        "schedule_id": one.id,
        "due_at": span.first,
        "last_due_at": span.last,
        "count": span.count,
        "state": state,
        "reason": reason,
        "capture_id": capture_id,
        "at": at,
        "by": by,
    }


def write(session: Session, rows: Sequence[Json]) -> None:
    """Keep what became of due instants; what was written before stays as it was."""
    if rows:
        statement = insert(ScheduleFiring).on_conflict_do_nothing(index_elements=["schedule_id", "due_at"])
        session.execute(statement, rows)


def written(session: Session, ids: Sequence[UUID]) -> set[tuple[UUID, datetime]]:
    """What is known already of due instants that these schedules have before them: after a backup was put back."""
    query = (
        select(ScheduleFiring.schedule_id, ScheduleFiring.due_at)
        .join(Schedule, Schedule.id == ScheduleFiring.schedule_id)
        .where(Schedule.id.in_(ids), ScheduleFiring.due_at >= Schedule.next_due)
    )
    return {(found[0], found[1]) for found in session.execute(query)}


def forgo(session: Session, one: Schedule, at: datetime, by: str, why: str) -> None:
    """Before a schedule changes: what it was due at and nobody has looked at yet is recorded as missed."""
    while one.next_due is not None and one.next_due <= at:
        found = settled(one, at, catch_up=False, grace=timedelta(seconds=-1))
        assert found.missed is not None
        params: Json = {"count": found.missed.count}
        write(session, [row(one, found.missed, "missed", {"key": why, "params": params}, at, by)])
        move_on(one, found.next_due)
