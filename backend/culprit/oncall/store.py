"""Puts turns that were found elsewhere in the place of those of the time before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from culprit.kit.uuid7 import uuid7
from culprit.models import OncallTurn, Rotation
from culprit.oncall.found import MAX_TURNS, Found, Unreadable

FETCH_EVERY = timedelta(minutes=15)
#: An uploaded calendar changes only with the days ahead that are read from it.
READ_AGAIN = timedelta(days=1)


def replace(session: Session, row: Rotation, found: Sequence[Found], at: datetime) -> None:
    """These and no others from now on. Raises Unreadable where they are too many."""
    if len(found) > MAX_TURNS:
        raise Unreadable("oncall.too_many_turns", most=MAX_TURNS)
    session.execute(delete(OncallTurn).where(OncallTurn.rotation_id == row.id))
    if found:
        rows = [
            {
                "id": uuid7(),
                "rotation_id": row.id,
                "starts_at": one.start,
                "ends_at": one.end,
                "who": one.who,
                "address": one.address,
                "level": one.level,
            }
            for one in found
        ]
        session.execute(insert(OncallTurn), rows)
    row.fetched_at, row.failure = at, None
