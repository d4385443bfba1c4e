"""Record the result of each due time in exactly one row, even with several or restarted schedulers.

Every writer holds the lock of the schedule's row and updates `next_due` in the same transaction. So each due
time has exactly one row; the unique key of the table would refuse a second one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from uuid import UUID

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.domain.scheduling.cron import DueTime, get_zone, iter_due_times, resolve_local_time
from culprit.domain.scheduling.due import DueDecision, DueRange, decide_due_times
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.automation.schedule_firing import ScheduleFiring
from culprit.json_types import Json


def list_due_times(schedule: Schedule, after: datetime) -> Iterator[DueTime]:
    """Yield the due times of a schedule after `after`. Raises ValueError if its zone is no longer known."""
    zone = get_zone(schedule.zone)
    if schedule.cron is not None:
        return iter_due_times(schedule.cron, zone, after)
    assert schedule.local_time is not None
    result = resolve_local_time(schedule.local_time, zone)
    return iter([result] if result.at > after else [])


def resolve_due_times(
    schedule: Schedule, at: datetime, *, catch_up: bool | None = None, tolerance: timedelta | None = None
) -> DueDecision:
    """Decide about all due times of an active schedule until `at`. Raises ValueError, see `list_due_times`."""
    assert schedule.next_due is not None
    due = chain(
        [schedule.next_due.astimezone(UTC)],
        (result.at for result in list_due_times(schedule, schedule.next_due)),
    )
    return decide_due_times(
        due,
        at,
        timedelta(seconds=schedule.tolerance_s) if tolerance is None else tolerance,
        catch_up=schedule.catch_up == "one" if catch_up is None else catch_up,
    )


def set_next_due(schedule: Schedule, next_due: datetime | None) -> None:
    """Set the next due time; None completes the schedule."""
    schedule.next_due = next_due
    schedule.state = "done" if next_due is None else "active"


def build_firing(  # noqa: PLR0917 - the columns of a row
    schedule: Schedule,
    span: DueRange,
    state: str,
    reason: Json | None,
    at: datetime,
    by: str,
    capture_id: UUID | None = None,
) -> Json:
    """Return the row of a due time, for `insert_firings`."""
    return {
        "id": new_uuid7(),
        "schedule_id": schedule.id,
        "due_at": span.first,
        "last_due_at": span.last,
        "count": span.count,
        "state": state,
        "reason": reason,
        "capture_id": capture_id,
        "at": at,
        "by": by,
    }


def insert_firings(session: Session, rows: Sequence[Json]) -> None:
    """Insert results of due times; existing rows are kept."""
    if rows:
        statement = insert(ScheduleFiring).on_conflict_do_nothing(index_elements=["schedule_id", "due_at"])
        session.execute(statement, rows)


def skip_due_times(session: Session, schedule: Schedule, at: datetime, by: str, why: str) -> None:
    """Before a change, record the past due times that are still undecided as missed."""
    while schedule.next_due is not None and schedule.next_due <= at:
        result = resolve_due_times(schedule, at, catch_up=False, tolerance=timedelta(seconds=-1))
        assert result.missed is not None
        params: Json = {"count": result.missed.count}
        insert_firings(
            session, [build_firing(schedule, result.missed, "missed", {"key": why, "params": params}, at, by)]
        )
        set_next_due(schedule, result.next_due)
