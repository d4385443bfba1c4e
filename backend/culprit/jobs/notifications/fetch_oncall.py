"""The job that fetches shifts from calendars and PagerDuty.

No transaction is open during the request. If it fails, the rotation stores the reason and keeps its earlier
shifts.
"""

from __future__ import annotations

from uuid import UUID

import structlog
from sqlalchemy import func, update

from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.notifications.rotation import Rotation
from culprit.infra.network.http_client import OutgoingError
from culprit.infra.settings import get_settings
from culprit.infra.vault import SecretUnreadableError
from culprit.jobs.job import Job
from culprit.jobs.notifications.queries import pending_calendars
from culprit.json_types import Json
from culprit.notifications.oncall import calendar, pagerduty, queries, service, store
from culprit.notifications.oncall.external_shift import (
    MAX_AHEAD,
    MAX_BEHIND,
    ExternalShift,
    UnreadableCalendarError,
)

log = structlog.get_logger("culprit.fetch_oncall")


def fetch_oncall(rotation_id: UUID) -> bool | None:
    """Fetch the shifts of one rotation. Return whether it succeeded, or None if it was not due."""
    calendar_request: calendar.CalendarRequest | pagerduty.PagerDutyRequest | str | None = None
    failure: Json | None = None
    with unit_of_work(get_database().sessions) as session:
        # Moving the due time claims the fetch.
        claimed = session.scalar(
            update(Rotation)
            .where(Rotation.id == rotation_id, Rotation.fetch_after <= func.clock_timestamp())
            .values(fetch_after=func.clock_timestamp() + store.FETCH_EVERY)
            .returning(Rotation.id)
            .execution_options(synchronize_session=False)
        )
        row = queries.find_rotation(session, rotation_id) if claimed else None
        if row is None:
            return None
        zone = row.zone
        try:
            calendar_request = service.build_fetch_request(session, row) or row.calendar
        except SecretUnreadableError:
            failure = {"key": "oncall.secret_unreadable", "params": {"name": row.name}}
        except OutgoingError as error:
            failure = error.sentence
    external_shifts: list[ExternalShift] = []
    if failure is None:
        try:
            external_shifts = _fetch(calendar_request, zone)
        except (OutgoingError, UnreadableCalendarError) as error:
            failure = error.sentence
    return _store_result(rotation_id, external_shifts, failure, uploaded=isinstance(calendar_request, str))


def _fetch(
    calendar_request: calendar.CalendarRequest | pagerduty.PagerDutyRequest | str | None, zone: str
) -> list[ExternalShift]:
    start, end = utc_now() - MAX_BEHIND, utc_now() + MAX_AHEAD
    if isinstance(calendar_request, pagerduty.PagerDutyRequest):
        return pagerduty.fetch_shifts(calendar_request, start, end)
    data = (
        calendar.fetch_calendar(calendar_request)
        if isinstance(calendar_request, calendar.CalendarRequest)
        else (calendar_request or "").encode()
    )
    return calendar.parse_calendar(data, zone, start, end, get_settings().home / "work")


def _store_result(
    rotation_id: UUID, external_shifts: list[ExternalShift], failure: Json | None, *, uploaded: bool
) -> bool | None:
    with unit_of_work(get_database().sessions) as session:
        row = queries.find_rotation(session, rotation_id, lock=True)
        if row is None:
            return None
        if failure is None:
            try:
                store.replace_shifts(session, row, external_shifts, utc_now())
            except UnreadableCalendarError as error:
                failure = error.sentence
        if uploaded:
            row.fetch_after = utc_now() + store.REREAD_EVERY
        if failure is not None:
            row.failure = failure
            log.warning("oncall_not_fetched", rotation=row.name, why=failure["key"])
        return failure is None


JOB = Job("culprit.fetch_oncall", "parse", fetch_oncall, pending_calendars)
