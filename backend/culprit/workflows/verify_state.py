"""What every part of a verification does to its row: hold it, end it, tell the incident, wait for what was captured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from culprit.core.outcomes import RUN_FINAL
from culprit.incidents import journal
from culprit.kit.clock import now
from culprit.models import Evaluation, Fix, Incident, Run, Verification
from culprit.workflows.readiness import being_built
from culprit.workflows.verify_sides import Asked

Json = dict[str, Any]
TASK = "culprit.advance_verification"
OPEN = ("before", "waiting", "collecting", "judging")
#: Captures right behind one another are pieces of one: what makes a second like the next goes on across them.
PAUSE = timedelta(seconds=10)


def rested(session: Session, made: Sequence[UUID]) -> bool:
    """Whether enough time has passed since the last of these captures."""
    at = session.scalar(select(func.clock_timestamp()))
    last = session.scalar(select(func.max(Run.ended_at)).where(Run.capture_id.in_(made)))
    assert at is not None
    return last is None or at >= last + PAUSE


def came_home(session: Session, capture_id: UUID) -> bool:
    """Whether every run of a capture has ended, was evaluated, and has its profiles."""
    evaluated = exists(select(Evaluation.run_id).where(Evaluation.run_id == Run.id))
    runs = session.execute(select(Run.id, Run.state, evaluated).where(Run.capture_id == capture_id)).all()
    return all(
        state in RUN_FINAL and (seen or state not in {"done", "partial"}) and not being_built(session, run)
        for run, state, seen in runs
    )


def locked(session: Session, verification: Verification, states: Sequence[str]) -> bool:
    """Holds the incident and then the verification; False where the latter is no longer in one of these states."""
    incident_id = select(Fix.incident_id).where(Fix.id == verification.fix_id).scalar_subquery()
    session.execute(select(Incident.id).where(Incident.id == incident_id).with_for_update())
    session.refresh(verification, with_for_update=True)
    return verification.state in states


def fail(session: Session, verification: Verification, sentence: Json) -> None:
    if not locked(session, verification, OPEN):
        return
    verification.state, verification.failure, verification.ended_at = "failed", sentence, now()
    fix = session.get_one(Fix, verification.fix_id)
    incident = session.get_one(Incident, fix.incident_id, populate_existing=True)
    journal.enter(session, incident, None, "verification_failed", what=fix.what)


def tell(session: Session, what: Asked, kind: str, **params: str | float) -> None:
    """A line in the journal under a new version of the incident, which must be locked."""
    incident = session.get_one(Incident, what.fix.incident_id, populate_existing=True)
    told: Json = {"what": what.fix.what, "verification": str(what.verification.id), **params}
    journal.enter(session, incident, None, kind, **told)
