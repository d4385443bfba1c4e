"""Who looks after a standby: claimed by one conditional UPDATE, held by a lease, written to with its fence only.

The same rules as for runs, see `culprit.captures.leases`; all times are the database's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from culprit.captures.leases import lease
from culprit.models import Standby

_now = func.clock_timestamp()


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to look after a standby, as long as the lease lasts."""

    standby_id: UUID
    fence: int


def due() -> ColumnElement[bool]:
    """Standbys that may be begun now."""
    return (
        (Standby.state == "waiting")
        & Standby.cancel_requested_at.is_(None)
        & (Standby.until > _now)
        & or_(Standby.not_before.is_(None), Standby.not_before <= _now)
    )


def claim(session: Session, standby_id: UUID, worker: str) -> Claim | None:
    """Takes a standby that is due; None where somebody else has it."""
    fence = session.scalar(
        update(Standby)
        .where(Standby.id == standby_id, due())
        .values(
            state="watching",
            fence=Standby.fence + 1,
            worker=worker,
            lease_until=_now + lease(),
            heartbeat_at=_now,
            started_at=None,
            not_before=None,
            waiting=None,
            cost=None,
            readings=None,
        )
        .returning(Standby.fence)
        .execution_options(synchronize_session=False)
    )
    return None if fence is None else Claim(standby_id, fence)


def renew(session: Session, claim: Claim, **values: Any) -> bool:
    """Extends the lease and notes what was read; False where it is not ours any more."""
    return _write(session, claim, lease_until=_now + lease(), heartbeat_at=_now, **values)


def held(session: Session, claim: Claim) -> Standby | None:
    """The standby, locked until the end of the transaction, where it is still ours."""
    query = select(Standby).where(
        Standby.id == claim.standby_id, Standby.fence == claim.fence, Standby.state == "watching"
    )
    return session.scalar(query.with_for_update(of=Standby).execution_options(populate_existing=True))


def leave(session: Session, claim: Claim, state: str, **values: Any) -> bool:
    """Ends it in `state`; False where it is not ours any more."""
    return _write(session, claim, state=state, lease_until=None, ended_at=_now, waiting=None, **values)


def put_back(
    session: Session, claim: Claim, pause: timedelta, waiting: dict[str, Any], **values: Any
) -> bool:
    """To be begun again, not before `pause` from now."""
    return _write(
        session,
        claim,
        state="waiting",
        lease_until=None,
        started_at=None,
        cost=None,
        readings=None,
        not_before=_now + pause,
        waiting=waiting,
        **values,
    )


def _write(session: Session, claim: Claim, **values: Any) -> bool:
    row = session.execute(
        update(Standby)
        .where(Standby.id == claim.standby_id, Standby.fence == claim.fence, Standby.state == "watching")
        .values(**values)
        .returning(Standby.id)
        .execution_options(synchronize_session=False)
    ).first()
    return row is not None
