"""Replace the stored external shifts of a rotation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.notifications.oncall_shift import OncallShift
from culprit.infra.models.notifications.rotation import Rotation
from culprit.notifications.oncall.external_shift import MAX_SHIFTS, ExternalShift, UnreadableCalendarError

FETCH_EVERY = timedelta(minutes=15)
#: An uploaded calendar yields different shifts only because the time range moves.
REREAD_EVERY = timedelta(days=1)


def replace_shifts(
    session: Session, row: Rotation, external_shifts: Sequence[ExternalShift], at: datetime
) -> None:
    """Replace all external shifts. Raises UnreadableCalendarError if there are too many."""
    if len(external_shifts) > MAX_SHIFTS:
        raise UnreadableCalendarError("oncall.too_many_shifts", most=MAX_SHIFTS)
    session.execute(delete(OncallShift).where(OncallShift.rotation_id == row.id))
    if external_shifts:
        rows = [
            {
                "id": new_uuid7(),
                "rotation_id": row.id,
                "starts_at": external_shift.start,
                "ends_at": external_shift.end,
                "who": external_shift.who,
                "address": external_shift.address,
                "level": external_shift.level,
            }
            for external_shift in external_shifts
        ]
        session.execute(insert(OncallShift), rows)
    row.fetched_at, row.failure = at, None
