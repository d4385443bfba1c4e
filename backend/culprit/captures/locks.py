"""Leases of runs. Every change of state is made here or in `culprit.jobs`, and only by compare-and-set.

A run is claimed by one conditional UPDATE, owned by a lease that is renewed while the host sends data, and
written only with the fence of that claim. A worker whose lease was given to another worker finds its fence
refused. All times are those of the database, so that clocks of workers do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from culprit.domain.runs.states import RUN_FINAL, decide_capture_state
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.settings import get_settings
from culprit.infra.task_queue import enqueue_after_commit
from culprit.json_types import Json

BUSY_HOST_PAUSE = timedelta(seconds=3)

# The wall clock, not the beginning of the transaction.
_now = func.clock_timestamp()


@dataclass(frozen=True, slots=True)
class RunLease:
    """The right to work on a run while the lease lasts."""

    run_id: UUID
    capture_id: UUID
    fence: int
    attempt: int


@dataclass(frozen=True, slots=True)
class LeaseState:
    """The answer to the renewal of a lease: whether a user requested to cancel the run."""

    cancel_requested: bool


def get_lease_duration() -> timedelta:
    """Return the duration of a lease without renewal."""
    return timedelta(seconds=get_settings().lease_seconds)


def is_due() -> ColumnElement[bool]:
    """Return the condition of runs that can be claimed now."""
    return (
        (Run.state == "queued")
        & Run.cancel_requested_at.is_(None)
        & or_(Run.not_before.is_(None), Run.not_before <= _now)
    )


def claim_run(session: Session, run_id: UUID, worker: str) -> RunLease | None:
    """Claim a run that is due. Return None if another worker has it, or another run uses its host."""
    query = (
        update(Run)
        .where(Run.id == run_id, is_due())
        .values(
            state="running",
            fence=Run.fence + 1,
            attempt=Run.attempt + 1,
            worker=worker,
            lease_until=_now + get_lease_duration(),
            heartbeat_at=_now,
            started_at=_now,
            not_before=None,
            waiting=None,
            failure=None,
            failure_side=None,
            progress=None,
        )
        .returning(Run.capture_id, Run.fence, Run.attempt)
        .execution_options(synchronize_session=False)
    )
    try:
        with session.begin_nested():
            row = session.execute(query).first()
    except IntegrityError:  # uq_run_active_host
        postpone_run(session, run_id, BUSY_HOST_PAUSE, {"key": "run.host_busy_here", "params": {}})
        return None
    if row is None:
        return None
    settle_capture(session, row.capture_id)
    return RunLease(run_id, row.capture_id, row.fence, row.attempt)


def renew_lease(session: Session, claim: RunLease, **values: Any) -> LeaseState | None:
    """Renew the lease and store progress. Return None if the lease is lost."""
    row = session.execute(
        _update_owned(claim, lease_until=_now + get_lease_duration(), heartbeat_at=_now, **values).returning(
            Run.cancel_requested_at
        )
    ).first()
    return None if row is None else LeaseState(row.cancel_requested_at is not None)


def is_owned(session: Session, claim: RunLease) -> bool:
    """Return whether the lease is still owned, and lock the run until the end of the transaction."""
    query = select(Run.id).where(Run.id == claim.run_id, Run.fence == claim.fence, Run.state == "running")
    return session.scalar(query.with_for_update()) is not None


def finish_run(session: Session, claim: RunLease, state: str, **values: Any) -> bool:
    """Release the lease and set the run to `state`. Return False if the lease is lost."""
    if state in RUN_FINAL:
        values["ended_at"] = _now
    row = session.execute(
        _update_owned(claim, state=state, lease_until=None, **values).returning(Run.id)
    ).first()
    if row is not None:
        settle_capture(session, claim.capture_id)
    return row is not None


def requeue_run(
    session: Session, claim: RunLease, pause: timedelta, waiting: Json | None, **values: Any
) -> Literal["queued", "canceled"] | None:
    """Return the run to the queue, to be tried after `pause`; a run that was canceled in the meantime ends.

    Its time in the queue begins again.

    Return the new state, or None if the lease is lost.
    """
    query = select(Run.cancel_requested_at).where(Run.id == claim.run_id, Run.fence == claim.fence)
    called_off = session.scalar(query.with_for_update(key_share=True)) is not None
    state: Literal["queued", "canceled"] = "canceled" if called_off else "queued"
    again = {} if called_off else {"queued_at": _now, "not_before": _now + pause, "waiting": waiting}
    if not finish_run(session, claim, state, **again, **values):
        return None
    session.execute(
        update(RunCollector)
        .where(RunCollector.run_id == claim.run_id)
        .values(state=state, reason=None)
        .execution_options(synchronize_session=False)
    )
    return state


def postpone_run(session: Session, run_id: UUID, pause: timedelta, waiting: Json) -> None:
    """Postpone a queued run, with the reason `waiting`."""
    session.execute(
        update(Run)
        .where(Run.id == run_id, Run.state == "queued")
        .values(not_before=_now + pause, waiting=waiting)
        .execution_options(synchronize_session=False)
    )


def settle_capture(session: Session, capture_id: UUID) -> str:
    """Update the state of a capture from its runs and return it. Locks the capture.

    A capture that ended as a stage of a diagnosis advances the diagnosis.
    """
    # key_share: a transaction that changed a run twice shares a lock on its capture, which a stronger lock
    # would wait for.
    query = select(Capture.state, Capture.diagnosis_id).where(Capture.id == capture_id)
    row = session.execute(query.with_for_update(key_share=True)).first()
    previous_state, diagnosis_id = row if row is not None else (None, None)
    states = session.scalars(select(Run.state).where(Run.capture_id == capture_id)).all()
    state = decide_capture_state(states)
    if state != previous_state:
        ended = _now if state in RUN_FINAL else None
        session.execute(
            update(Capture)
            .where(Capture.id == capture_id)
            .values(state=state, ended_at=ended)
            .execution_options(synchronize_session=False)
        )
        if ended is not None and diagnosis_id is not None:
            enqueue_after_commit(session, "culprit.advance_diagnosis", diagnosis_id)
    return state


def _update_owned(claim: RunLease, **values: Any) -> Any:
    return (
        update(Run)
        .where(Run.id == claim.run_id, Run.fence == claim.fence, Run.state == "running")
        .values(**values)
        .execution_options(synchronize_session=False)
    )
