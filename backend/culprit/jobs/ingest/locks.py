"""Claims, failures and retries of builds of profiles, comparisons and disassembled functions.

A claim is an attempt number: a worker with an older number is refused. The sweep enqueues queued and
abandoned builds again, so that a lost message or worker only delays them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import and_, false, func, not_, or_, select, update
from sqlalchemy.orm import Session

from culprit.evidence.symbols.queries import is_fetch_pending
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.function_disassembly import FunctionDisassembly
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.json_types import Json

#: Key of an advisory lock.
FACTS_LOCK = 0x46414354  # two runs of one host may be stored at the same time
Build = type[Profile] | type[ProfileComparison] | type[FunctionDisassembly]

MAX_ATTEMPTS = 3
# Longer than any child may take.
STALE_AFTER = timedelta(minutes=12)
_now = func.clock_timestamp()


def claim_build(session: Session, what: Build, build_id: UUID) -> int | None:
    """Claim a build and return the attempt number, or None if another worker has it or it is done.

    A profile is built after the symbols of its run were fetched.
    """
    abandoned = and_(what.state == "running", what.started_at < _now - STALE_AFTER)
    waits = is_fetch_pending(Profile.run_id) if what is Profile else false()
    attempt: int | None = session.scalar(
        update(what)
        .where(what.id == build_id, or_(what.state == "queued", abandoned), not_(waits))
        .values(state="running", attempts=what.attempts + 1, started_at=_now)
        .returning(what.attempts)
        .execution_options(synchronize_session=False)
    )
    if attempt is not None and attempt > MAX_ATTEMPTS:
        finish_build(session, what, build_id, attempt, state="failed", failure=fail_abandoned_builds())
        return None
    return attempt


def fail_abandoned_builds() -> Json:
    """Return the message of builds that failed too often."""
    return {"key": "profile.gave_up", "params": {"attempts": MAX_ATTEMPTS}}


def finish_build(session: Session, what: Build, build_id: UUID, attempt: int, **values: Any) -> bool:
    """Store the outcome of an attempt. Return False if a later attempt exists."""
    if what is ProfileComparison:
        values["ended_at"] = _now
    done = session.execute(
        update(what)
        .where(what.id == build_id, what.state == "running", what.attempts == attempt)
        .values(**values)
        .returning(what.id)
        .execution_options(synchronize_session=False)
    ).first()
    return done is not None


def lock_run(session: Session, run_id: UUID, fence: int | None = None) -> Run | None:
    """Return a run, locked, or None; with `fence`, only the run of that claim."""
    query = select(Run).where(Run.id == run_id)
    if fence is not None:
        query = query.where(Run.fence == fence)
    return session.scalar(query.with_for_update(of=Run, key_share=True))


def lock_host_facts(session: Session, host_id: UUID) -> None:
    """Lock the facts of a host until the end of the transaction."""
    session.execute(select(func.pg_advisory_xact_lock(FACTS_LOCK, func.hashtext(str(host_id)))))


def lock_host_series(session: Session, host_id: UUID) -> None:
    """Lock the series of a host until the end of the transaction."""
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(str(host_id), 0))))
