"""Leases of watchers: claimed by one conditional UPDATE, and written only with the current fence.

The rules are those of runs (`culprit.captures.locks`). All times are PostgreSQL's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from culprit.captures.locks import get_lease_duration
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.incidents.incident import Incident

_now = func.clock_timestamp()


@dataclass(frozen=True, slots=True)
class WatcherLease:
    """The right of one worker to run a watcher until the lease expires."""

    watcher_id: UUID
    fence: int


def is_due() -> ColumnElement[bool]:
    """Return the condition for watchers that can be started now."""
    return (
        (Watcher.state == "waiting")
        & Watcher.cancel_requested_at.is_(None)
        & (Watcher.expires_at > _now)
        & or_(Watcher.not_before.is_(None), Watcher.not_before <= _now)
    )


def claim_watcher(session: Session, watcher_id: UUID, worker: str) -> WatcherLease | None:
    """Claim a due watcher, or return None if another worker has it."""
    fence = session.scalar(
        update(Watcher)
        .where(Watcher.id == watcher_id, is_due())
        .values(
            state="watching",
            fence=Watcher.fence + 1,
            worker=worker,
            lease_until=_now + get_lease_duration(),
            heartbeat_at=_now,
            started_at=None,
            not_before=None,
            wait_reason=None,
            cost=None,
            readings=None,
        )
        .returning(Watcher.fence)
        .execution_options(synchronize_session=False)
    )
    return None if fence is None else WatcherLease(watcher_id, fence)


def renew_lease(session: Session, watcher_lease: WatcherLease, **values: Any) -> bool:
    """Extend the lease and store `values`; return False if the lease was lost."""
    return _update_owned(
        session, watcher_lease, lease_until=_now + get_lease_duration(), heartbeat_at=_now, **values
    )


def lock_owned_watcher(session: Session, watcher_lease: WatcherLease) -> Watcher | None:
    """Lock the watcher until the end of the transaction, or return None if the lease was lost."""
    query = select(Watcher).where(
        Watcher.id == watcher_lease.watcher_id,
        Watcher.fence == watcher_lease.fence,
        Watcher.state == "watching",
    )
    return session.scalar(query.with_for_update(of=Watcher).execution_options(populate_existing=True))


def finish_watcher(session: Session, watcher_lease: WatcherLease, state: str, **values: Any) -> bool:
    """End the watcher in `state`; return False if the lease was lost."""
    return _update_owned(
        session, watcher_lease, state=state, lease_until=None, ended_at=_now, wait_reason=None, **values
    )


def requeue_watcher(
    session: Session,
    watcher_lease: WatcherLease,
    pause: timedelta,
    wait_reason: dict[str, Any],
    **values: Any,
) -> bool:
    """Make the watcher due again after `pause`; return False if the lease was lost."""
    return _update_owned(
        session,
        watcher_lease,
        state="waiting",
        lease_until=None,
        started_at=None,
        cost=None,
        readings=None,
        not_before=_now + pause,
        wait_reason=wait_reason,
        **values,
    )


def _update_owned(session: Session, watcher_lease: WatcherLease, **values: Any) -> bool:
    row = session.execute(
        update(Watcher)
        .where(
            Watcher.id == watcher_lease.watcher_id,
            Watcher.fence == watcher_lease.fence,
            Watcher.state == "watching",
        )
        .values(**values)
        .returning(Watcher.id)
        .execution_options(synchronize_session=False)
    ).first()
    return row is not None


def lock_incident(session: Session, incident_id: UUID | None) -> Incident | None:
    """Lock the incident of a watcher, if it has one."""
    query = select(Incident).where(Incident.id == incident_id)
    return session.scalar(query.with_for_update(of=Incident, key_share=True))
