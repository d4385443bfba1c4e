"""What the building of profiles and of comparisons has in common: claims, failures, and being tried again.

A claim is an attempt number: whoever comes back with an older one is refused. A message that got lost, or a
worker that died, is made up for by the scheduler, which rings again for what is queued or was abandoned.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import and_, func, or_, update
from sqlalchemy.orm import Session

from culprit.models import Profile, ProfileDiff

Json = dict[str, Any]
Build = type[Profile] | type[ProfileDiff]

MAX_ATTEMPTS = 3
# Longer than any child may take.
STALE_AFTER = timedelta(minutes=12)
TASKS: dict[Build, str] = {Profile: "culprit.build_profile", ProfileDiff: "culprit.build_diff"}
_now = func.clock_timestamp()


def claim(session: Session, what: Build, build_id: UUID) -> int | None:
    """The number of this attempt; None where somebody else is at it, or it needs no more."""
    abandoned = and_(what.state == "running", what.started_at < _now - STALE_AFTER)
    attempt: int | None = session.scalar(
        update(what)
        .where(what.id == build_id, or_(what.state == "queued", abandoned))
        .values(state="running", attempts=what.attempts + 1, started_at=_now)
        .returning(what.attempts)
        .execution_options(synchronize_session=False)
    )
    if attempt is not None and attempt > MAX_ATTEMPTS:
        finish(session, what, build_id, attempt, state="failed", failure=given_up())
        return None
    return attempt


def given_up() -> Json:
    """Why a build is not tried any more."""
    return {"key": "profile.gave_up", "params": {"attempts": MAX_ATTEMPTS}}


def finish(session: Session, what: Build, build_id: UUID, attempt: int, **values: Any) -> bool:
    """Writes the outcome of an attempt; False where a later one is under way."""
    if what is ProfileDiff:
        values["ended_at"] = _now
    done = session.execute(
        update(what)
        .where(what.id == build_id, what.state == "running", what.attempts == attempt)
        .values(**values)
        .returning(what.id)
        .execution_options(synchronize_session=False)
    ).first()
    return done is not None
