"""Who is on call elsewhere: the task `culprit.fetch_oncall`, for calendars and for PagerDuty.

Nothing is fetched within a transaction. Where it brings nothing, the rotation says why and keeps the turns that it
had: whoever was on call an hour ago is a better answer than nobody.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import func, update

from culprit.config import settings
from culprit.infra.db import database
from culprit.infra.outgoing import OutgoingError
from culprit.infra.secrets import SecretUnreadable
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Rotation
from culprit.oncall import calendar, pagerduty, queries, service, store
from culprit.oncall.found import AHEAD, BEHIND, Found, Unreadable

Json = dict[str, Any]
log = structlog.get_logger("culprit.fetch_oncall")


def fetch_oncall(rotation_id: UUID) -> bool | None:
    """Fetch for one rotation; whether it brought something, None where it was not its time."""
    asked: calendar.Asked | pagerduty.Asked | str | None = None
    failure: Json | None = None
    with unit_of_work(database().sessions) as session:
        # Whoever moves the time on is the one who fetches.
        claimed = session.scalar(
            update(Rotation)
            .where(Rotation.id == rotation_id, Rotation.fetch_after <= func.clock_timestamp())
            .values(fetch_after=func.clock_timestamp() + store.FETCH_EVERY)
            .returning(Rotation.id)
            .execution_options(synchronize_session=False)
        )
        row = queries.rotation(session, rotation_id) if claimed else None
        if row is None:
            return None
        zone = row.zone
        try:
            asked = service.asked_of(session, row) or row.calendar
        except SecretUnreadable:
            failure = {"key": "oncall.secret_unreadable", "params": {"name": row.name}}
        except OutgoingError as error:
            failure = error.sentence
    found: list[Found] = []
    if failure is None:
        try:
            found = _fetch(asked, zone)
        except (OutgoingError, Unreadable) as error:
            failure = error.sentence
    return _settle(rotation_id, found, failure, uploaded=isinstance(asked, str))


def _fetch(asked: calendar.Asked | pagerduty.Asked | str | None, zone: str) -> list[Found]:
    start, end = now() - BEHIND, now() + AHEAD
    if isinstance(asked, pagerduty.Asked):
        return pagerduty.ask(asked, start, end)
    data = calendar.ask(asked) if isinstance(asked, calendar.Asked) else (asked or "").encode()
    return calendar.read(data, zone, start, end, settings().home / "work")


def _settle(rotation_id: UUID, found: list[Found], failure: Json | None, *, uploaded: bool) -> bool | None:
    with unit_of_work(database().sessions) as session:
        row = queries.rotation(session, rotation_id, lock=True)
        if row is None:
            return None
        if failure is None:
            try:
                store.replace(session, row, found, now())
            except Unreadable as error:
                failure = error.sentence
        if uploaded:
            row.fetch_after = now() + store.READ_AGAIN
        if failure is not None:
            row.failure = failure
            log.warning("oncall_not_fetched", rotation=row.name, why=failure["key"])
        return failure is None
