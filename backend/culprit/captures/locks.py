"""Who works on a run. Every change of state happens here or in `culprit.workflows`, and only by comparison.

A run is claimed by one conditional UPDATE, held by a lease that is renewed while the host is heard, and
written to only with the fence of that claim. Whoever comes back after the lease was given to somebody else
finds its fence refused. All times are the database's, so that clocks of workers do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from culprit.config import settings
from culprit.core.outcomes import RUN_FINAL, capture_state
from culprit.infra.broker import announce
from culprit.models import Capture, Run, RunCollector

NEIGHBOUR_PAUSE = timedelta(seconds=3)
Json = dict[str, Any]

# The wall clock, not the beginning of the transaction.
_now = func.clock_timestamp()


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on a run, as long as the lease lasts."""

    run_id: UUID
    capture_id: UUID
    fence: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Held:
    """What the holder of a lease learns when renewing it."""

    cancel_requested: bool


def lease() -> timedelta:
    """How long a run is ours without another word."""
    return timedelta(seconds=settings().lease_seconds)


def due() -> ColumnElement[bool]:
    """Runs that may be claimed now."""
    return (
        (Run.state == "queued")
        & Run.cancel_requested_at.is_(None)
        & or_(Run.not_before.is_(None), Run.not_before <= _now)
    )


def claim(session: Session, run_id: UUID, worker: str) -> Claim | None:
    """Takes a run that is due; None where somebody else has it, or another run has its host."""
    taken = (
        update(Run)
        .where(Run.id == run_id, due())
        .values(
            state="running",
            fence=Run.fence + 1,
            attempt=Run.attempt + 1,
            worker=worker,
            lease_until=_now + lease(),
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
            row = session.execute(taken).first()
    except IntegrityError:  # uq_run_active_host
        wait(session, run_id, NEIGHBOUR_PAUSE, {"key": "run.host_busy_here", "params": {}})
        return None
    if row is None:
        return None
    settle_capture(session, row.capture_id)
    return Claim(run_id, row.capture_id, row.fence, row.attempt)


def renew(session: Session, claim: Claim, **values: Any) -> Held | None:
    """Extends the lease and notes progress; None where the run is no longer ours."""
    row = session.execute(
        _ours(claim, lease_until=_now + lease(), heartbeat_at=_now, **values).returning(
            Run.cancel_requested_at
        )
    ).first()
    return None if row is None else Held(row.cancel_requested_at is not None)


def holds(session: Session, claim: Claim) -> bool:
    """Whether the run is still ours; locks it until the end of the transaction."""
    query = select(Run.id).where(Run.id == claim.run_id, Run.fence == claim.fence, Run.state == "running")
    return session.scalar(query.with_for_update()) is not None


def leave(session: Session, claim: Claim, state: str, **values: Any) -> bool:
    """Ends our hold: the run goes into `state`; False where it is no longer ours."""
    if state in RUN_FINAL:
        values["ended_at"] = _now
    row = session.execute(_ours(claim, state=state, lease_until=None, **values).returning(Run.id)).first()
    if row is not None:
        settle_capture(session, claim.capture_id)
    return row is not None


def put_back(
    session: Session, claim: Claim, pause: timedelta, waiting: Json | None, **values: Any
) -> Literal["queued", "cancelled"] | None:
    """Returns the run to the queue, to be tried not before `pause` from now; one that was called off meanwhile ends.

    None where it is no longer ours.
    """
    query = select(Run.cancel_requested_at).where(Run.id == claim.run_id, Run.fence == claim.fence)
    called_off = session.scalar(query.with_for_update(key_share=True)) is not None
    state: Literal["queued", "cancelled"] = "cancelled" if called_off else "queued"
    again = {} if called_off else {"not_before": _now + pause, "waiting": waiting}
    if not leave(session, claim, state, **again, **values):
        return None
    session.execute(
        update(RunCollector)
        .where(RunCollector.run_id == claim.run_id)
        .values(state=state, reason=None)
        .execution_options(synchronize_session=False)
    )
    return state


def wait(session: Session, run_id: UUID, pause: timedelta, waiting: Json) -> None:
    """Has a queued run wait, and says why."""
    session.execute(
        update(Run)
        .where(Run.id == run_id, Run.state == "queued")
        .values(not_before=_now + pause, waiting=waiting)
        .execution_options(synchronize_session=False)
    )


def settle_capture(session: Session, capture_id: UUID) -> str:
    """Brings the state of a capture in line with its runs; returns it. Locks the capture.

    One that ended as a stage of a diagnosis lets that go on.
    """
    # key_share: who changed a run twice holds a share of its capture, which a stronger lock would wait for.
    query = select(Capture.state, Capture.diagnosis_id).where(Capture.id == capture_id)
    row = session.execute(query.with_for_update(key_share=True)).first()
    held, diagnosis_id = row if row is not None else (None, None)
    states = session.scalars(select(Run.state).where(Run.capture_id == capture_id)).all()
    state = capture_state(states)
    if state != held:
        ended = _now if state in RUN_FINAL else None
        session.execute(
            update(Capture)
            .where(Capture.id == capture_id)
            .values(state=state, ended_at=ended)
            .execution_options(synchronize_session=False)
        )
        if ended is not None and diagnosis_id is not None:
            announce(session, "culprit.advance_diagnosis", diagnosis_id)
    return state


def _ours(claim: Claim, **values: Any) -> Any:
    return (
        update(Run)
        .where(Run.id == claim.run_id, Run.fence == claim.fence, Run.state == "running")
        .values(**values)
        .execution_options(synchronize_session=False)
    )
