"""Shared state changes of a verification: lock, fail, append journal entries, check captures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.domain.runs.states import RUN_FINAL
from culprit.evidence.readiness_queries import is_evaluation_pending
from culprit.incidents.records import journal
from culprit.infra.db.clock import utc_now
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.verification import Verification
from culprit.jobs.verification import queries
from culprit.jobs.verification.measurements import VerificationSpec
from culprit.json_types import Json

TASK = "culprit.advance_verification"
OPEN = ("before", "waiting", "collecting", "judging")
#: Pause between captures. Without it, successive captures are correlated like parts of a single capture.
CAPTURE_PAUSE = timedelta(seconds=10)


def is_capture_settled(session: Session, capture_ids: Sequence[UUID], pause: timedelta | None = None) -> bool:
    """Return whether the pause (CAPTURE_PAUSE if None) has passed since the last of these captures."""
    last = queries.find_last_end(session, capture_ids)
    return last is None or queries.get_database_time(session) >= last + (
        CAPTURE_PAUSE if pause is None else pause
    )


def is_run_finished(session: Session, capture_id: UUID) -> bool:
    """Return whether every run of a capture has ended, is evaluated and has its profiles."""
    return all(
        state in RUN_FINAL
        and (evaluated or state not in {"done", "partial"})
        and not is_evaluation_pending(session, run)
        for run, state, evaluated in queries.list_run_states(session, capture_id)
    )


def lock_in_state(session: Session, verification: Verification, states: Sequence[str]) -> bool:
    """Lock the incident, then the verification. Return False if it is in none of these states any more."""
    queries.lock_incident_of_fix(session, verification.fix_id)
    session.refresh(verification, with_for_update=True)
    return verification.state in states


def fail_verification(session: Session, verification: Verification, sentence: Json) -> None:
    if not lock_in_state(session, verification, OPEN):
        return
    verification.state, verification.failure, verification.ended_at = "failed", sentence, utc_now()
    fix = session.get_one(Fix, verification.fix_id)
    incident = session.get_one(Incident, fix.incident_id, populate_existing=True)
    journal.append_entry(session, incident, None, "verification_failed", what=fix.what)


def append_to_journal(session: Session, spec: VerificationSpec, kind: str, **params: str | float) -> None:
    """Append a journal entry. The incident must be locked."""
    incident = session.get_one(Incident, spec.fix.incident_id, populate_existing=True)
    reported: Json = {"what": spec.fix.what, "verification": str(spec.verification.id), **params}
    journal.append_entry(session, incident, None, kind, **reported)
