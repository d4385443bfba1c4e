"""Maintenance: times in which no scheduled capture starts, and whose they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.captures.schemas import HostRef, UserRef
from culprit.kit.clock import now
from culprit.kit.errors import Forbidden, Invalid, NotFound
from culprit.models import Host, MaintenanceWindow
from culprit.schedules import queries
from culprit.schedules.schemas import MaintenanceCreate, MaintenanceRead

#: What is kept away for longer is a host that should be retired, or a schedule that should be paused.
LONGEST = timedelta(days=90)


def covers(window: MaintenanceWindow, host: Host, at: datetime) -> bool:
    """Whether a window holds a scheduled capture of `host` back at `at`."""
    if not window.starts_at <= at < window.ends_at:
        return False
    if window.host_id is not None:
        return window.host_id == host.id
    return all(host.labels.get(name) == value for name, value in (window.selector or {}).items())


def covering(windows: Iterable[MaintenanceWindow], host: Host, at: datetime) -> MaintenanceWindow | None:
    """Of the windows over a host, the one that ends last."""
    found = [one for one in windows if covers(one, host, at)]
    return max(found, key=lambda one: one.ends_at, default=None)


def over_host(session: Session, host: Host, at: datetime) -> MaintenanceWindow | None:
    """The window over a host at `at`, if there is one."""
    return covering(queries.windows_between(session, at, at), host, at)


def over_all(
    windows: Sequence[MaintenanceWindow], hosts: Sequence[Host], at: datetime
) -> MaintenanceWindow | None:
    """Where every one of `hosts` is held back at `at`: the window that ends first."""
    held = [covering(windows, host, at) for host in hosts]
    found = [one for one in held if one is not None]
    return min(found, key=lambda one: one.ends_at) if found and len(found) == len(held) else None


def in_maintenance(window: MaintenanceWindow) -> dict[str, object]:
    """Why a scheduled capture does not start within a window."""
    until = window.ends_at.isoformat(timespec="minutes")
    return {"key": "schedule.in_maintenance", "params": {"reason": window.reason, "until": until}}


def read(session: Session, rows: Sequence[MaintenanceWindow]) -> list[MaintenanceRead]:
    """Windows as they are sent."""
    hosts = queries.host_names(session, (one.host_id for one in rows))
    people = queries.people(session, (one.created_by for one in rows))
    at = now()
    return [
        MaintenanceRead(
            id=one.id,
            starts_at=one.starts_at,
            ends_at=one.ends_at,
            reason=one.reason,
            host=HostRef(id=one.host_id, name=hosts[one.host_id])
            if one.host_id in hosts and one.host_id
            else None,
            labels=one.selector,
            by=UserRef(id=one.created_by, name=people[one.created_by])
            if one.created_by in people and one.created_by
            else None,
            state="over" if one.ends_at <= at else "now" if one.starts_at <= at else "to_come",
        )
        for one in rows
    ]


def add(session: Session, actor: Actor, wanted: MaintenanceCreate) -> MaintenanceRead:
    """Keeps scheduled captures away. Raises NotFound, Forbidden, Invalid."""
    policy(actor, "maintenance.manage")
    if wanted.host_id is not None and not queries.visible_hosts(session, actor, [wanted.host_id]):
        raise NotFound("host.not_found")
    if wanted.host_id is not None and wanted.labels is not None:
        raise Invalid("maintenance.host_or_labels")
    if not wanted.starts_at < wanted.ends_at <= wanted.starts_at + LONGEST:
        raise Invalid("maintenance.span", days=LONGEST.days)
    if wanted.ends_at <= now():
        raise Invalid("maintenance.over")
    if wanted.host_id is None:
        _within_scope(actor, wanted.labels or {})
    one = MaintenanceWindow(
        starts_at=wanted.starts_at,
        ends_at=wanted.ends_at,
        reason=wanted.reason,
        host_id=wanted.host_id,
        selector=wanted.labels,
        created_by=actor.id,
    )
    session.add(one)
    session.flush()
    audit.record(session, actor, "maintenance.set", "maintenance_window", one.id, **_told(one))
    return read(session, [one])[0]


def _within_scope(actor: Actor, labels: dict[str, str]) -> None:
    """Whoever sees some hosts only holds back no others. Raises Forbidden."""
    for name, values in actor.label_scope.items():
        if labels.get(name) not in values:
            raise Forbidden("maintenance.outside_scope", label=name, values=", ".join(values))


def remove(session: Session, actor: Actor, window_id: UUID) -> None:
    """Ends a window that has begun, forgets one that has not. Raises NotFound, Forbidden."""
    policy(actor, "maintenance.manage")
    one = queries.window(session, actor, window_id)
    if one is None:
        raise NotFound("maintenance.not_found")
    if one.host_id is None:
        _within_scope(actor, one.selector or {})
    at = now()
    told = _told(one)
    if one.starts_at < at < one.ends_at:
        one.ends_at = at
    elif at <= one.starts_at:
        session.delete(one)
    else:
        raise Invalid("maintenance.over")
    audit.record(session, actor, "maintenance.ended", "maintenance_window", window_id, **told)


def _told(one: MaintenanceWindow) -> dict[str, Any]:
    return {
        "from": one.starts_at.isoformat(),
        "until": one.ends_at.isoformat(),
        "reason": one.reason,
        "host_id": str(one.host_id) if one.host_id else None,
        "labels": one.selector,
    }
