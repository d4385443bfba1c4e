"""Every SELECT about schedules and maintenance windows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, true
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import hidden, visible
from culprit.models import (
    Capture,
    Host,
    MaintenanceWindow,
    Schedule,
    ScheduleFiring,
    ScheduleHost,
    UserAccount,
)

#: A capture in one of these still works on its hosts, or will.
OPEN = ("queued", "running")


def seen(actor: Actor) -> ColumnElement[bool]:
    """The schedules that exist for this actor: their own, and those that capture a host of their scope."""
    if actor.unrestricted:
        return true()
    named = and_(ScheduleHost.schedule_id == Schedule.id, ScheduleHost.host_id == Host.id, visible(actor))
    labelled = and_(Host.labels.contains(Schedule.selector), Host.state == "active", visible(actor))
    return or_(
        Schedule.owner_id == actor.id,
        exists(select(1).select_from(ScheduleHost, Host).where(named)),
        and_(Schedule.selector.is_not(None), exists(select(1).select_from(Host).where(labelled))),
    )


def schedules(actor: Actor, state: str | None = None) -> Select[Any]:
    """The visible ones."""
    query = select(Schedule).where(seen(actor))
    return query if state is None else query.where(Schedule.state == state)


def schedule(session: Session, actor: Actor, schedule_id: UUID, *, lock: bool = False) -> Schedule | None:
    """One visible schedule."""
    query = schedules(actor).where(Schedule.id == schedule_id)
    if lock:
        query = query.with_for_update(of=Schedule).execution_options(populate_existing=True)
    return session.scalars(query).first()


def named(session: Session, name: str) -> UUID | None:
    """The schedule of that name, whoever may see it."""
    return session.scalar(select(Schedule.id).where(Schedule.name == name))


def due(session: Session, at: datetime, most: int, *, but: Collection[UUID] = ()) -> list[Schedule]:
    """The schedules that have been due longest and that no other scheduler holds, locked."""
    query = (
        select(Schedule)
        .where(Schedule.state == "active", Schedule.next_due <= at, Schedule.id.not_in(but))
        .order_by(Schedule.next_due, Schedule.id)
        .limit(most)
        .with_for_update(of=Schedule, skip_locked=True)
        .execution_options(populate_existing=True)
    )
    return list(session.scalars(query))


def accounts(session: Session, rows: Iterable[Schedule]) -> list[UserAccount]:
    """Who owns these schedules, and who has allowed them what."""
    wanted = {id_ for one in rows for id_ in (one.owner_id, one.deep_allowed_by) if id_ is not None}
    return list(session.scalars(select(UserAccount).where(UserAccount.id.in_(wanted))))


def targets(session: Session, actor: Actor, one: Schedule) -> list[Host]:
    """The active hosts that a schedule would capture now, of those that exist for the actor."""
    query = select(Host).where(Host.state == "active", visible(actor)).order_by(Host.name, Host.id)
    if one.selector is not None:
        query = query.where(Host.labels.contains(one.selector))
    else:
        query = query.where(
            Host.id.in_(select(ScheduleHost.host_id).where(ScheduleHost.schedule_id == one.id))
        )
    return list(session.scalars(query))


def names_hidden_host(session: Session, actor: Actor, owner: Actor, one: Schedule) -> bool:
    """Return whether a schedule names a host that its owner can capture and that does not exist for the actor."""
    unseen = (
        select(ScheduleHost.host_id)
        .join(Host, Host.id == ScheduleHost.host_id)
        .where(ScheduleHost.schedule_id == one.id, visible(owner), hidden(actor))
    )
    return session.scalars(unseen.limit(1)).first() is not None


def host_count(session: Session, schedule_id: UUID) -> int:
    """How many hosts a schedule names one by one."""
    query = select(func.count()).where(ScheduleHost.schedule_id == schedule_id)
    return session.scalar(query) or 0


def visible_hosts(session: Session, actor: Actor, ids: Iterable[UUID]) -> list[Host]:
    """The active hosts among these that exist for this actor."""
    query = select(Host).where(Host.id.in_(list(ids)), Host.state == "active", visible(actor))
    return list(session.scalars(query.order_by(Host.name, Host.id)))


def labelled_hosts(session: Session, actor: Actor, labels: dict[str, str]) -> list[Host]:
    """The active hosts with these labels that exist for this actor."""
    query = select(Host).where(Host.labels.contains(labels), Host.state == "active", visible(actor))
    return list(session.scalars(query.order_by(Host.name, Host.id)))


def named_hosts(session: Session, actor: Actor, ids: Sequence[UUID]) -> dict[UUID, list[Host]]:
    """The visible hosts that each schedule names one by one."""
    query = (
        select(ScheduleHost.schedule_id, Host)
        .join(Host, Host.id == ScheduleHost.host_id)
        .where(ScheduleHost.schedule_id.in_(ids), visible(actor))
        .order_by(Host.name, Host.id)
    )
    found: dict[UUID, list[Host]] = {}
    for row in session.execute(query):
        found.setdefault(row[0], []).append(row[1])
    return found


def still_open(session: Session, ids: Sequence[UUID]) -> dict[UUID, int]:
    """The number of the capture that has not ended, of the schedules that have one."""
    query = (
        select(ScheduleFiring.schedule_id, func.max(Capture.number))
        .join(Capture, ScheduleFiring.capture_id == Capture.id)
        .where(ScheduleFiring.schedule_id.in_(ids), Capture.state.in_(OPEN))
        .group_by(ScheduleFiring.schedule_id)
    )
    return {row[0]: row[1] for row in session.execute(query)}


def recent(session: Session, ids: Sequence[UUID], limit: int) -> dict[UUID, list[ScheduleFiring]]:
    """The newest firings of each schedule, the newest first."""
    if not ids:
        return {}
    place = (
        func.row_number()
        .over(partition_by=ScheduleFiring.schedule_id, order_by=ScheduleFiring.due_at.desc())
        .label("place")
    )
    ranked = select(ScheduleFiring.id, place).where(ScheduleFiring.schedule_id.in_(ids)).subquery()
    query = (
        select(ScheduleFiring)
        .join(ranked, ranked.c.id == ScheduleFiring.id)
        .where(ranked.c.place <= limit)
        .order_by(ScheduleFiring.due_at.desc())
    )
    found: dict[UUID, list[ScheduleFiring]] = {}
    for row in session.scalars(query):
        found.setdefault(row.schedule_id, []).append(row)
    return found


def firings(schedule_id: UUID) -> Select[Any]:
    """What became of the due instants of one schedule."""
    return select(ScheduleFiring).where(ScheduleFiring.schedule_id == schedule_id)


def counts(session: Session, ids: Sequence[UUID]) -> dict[UUID, dict[str, int]]:
    """Due instants of each schedule by what became of them."""
    if not ids:
        return {}
    query = (
        select(ScheduleFiring.schedule_id, ScheduleFiring.state, func.sum(ScheduleFiring.count))
        .where(ScheduleFiring.schedule_id.in_(ids))
        .group_by(ScheduleFiring.schedule_id, ScheduleFiring.state)
    )
    found: dict[UUID, dict[str, int]] = {}
    for row in session.execute(query):
        found.setdefault(row[0], {})[row[1]] = int(row[2])
    return found


def captures(session: Session, ids: Iterable[UUID]) -> dict[UUID, Capture]:
    """Captures by id."""
    wanted = list(ids)
    rows = session.scalars(select(Capture).where(Capture.id.in_(wanted))) if wanted else ()
    return {row.id: row for row in rows}


def people(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Names of accounts."""
    wanted = {one for one in ids if one is not None}
    if not wanted:
        return {}
    query = select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(wanted))
    return {row.id: row.name for row in session.execute(query)}


def windows_seen(actor: Actor) -> ColumnElement[bool]:
    """The windows that exist for this actor: those that may hold back a host of their scope."""
    if actor.unrestricted:
        return true()
    mine = select(Host.id).where(visible(actor))
    fitting = and_(
        *(
            or_(
                MaintenanceWindow.selector[name].astext.is_(None),
                MaintenanceWindow.selector[name].astext.in_(list(values)),
            )
            for name, values in actor.label_scope.items()
        )
    )
    return and_(or_(MaintenanceWindow.host_id.is_(None), MaintenanceWindow.host_id.in_(mine)), fitting)


def windows(actor: Actor, after: datetime | None) -> Select[Any]:
    """The visible windows; with `after` only those that end later."""
    query = select(MaintenanceWindow).where(windows_seen(actor))
    return query if after is None else query.where(_ends_later(after))


def _ends_later(at: datetime) -> ColumnElement[bool]:
    return or_(MaintenanceWindow.ends_at > at, MaintenanceWindow.ends_at.is_(None))


def window(session: Session, actor: Actor, window_id: UUID) -> MaintenanceWindow | None:
    """One visible window, locked."""
    query = windows(actor, None).where(MaintenanceWindow.id == window_id)
    return session.scalars(query.with_for_update(of=MaintenanceWindow)).first()


def windows_between(session: Session, start: datetime, end: datetime) -> list[MaintenanceWindow]:
    """All windows whose span overlaps [start, end], whoever may see them, the first to begin first."""
    query = (
        select(MaintenanceWindow)
        .where(MaintenanceWindow.starts_at <= end, _ends_later(start))
        .order_by(MaintenanceWindow.starts_at, MaintenanceWindow.id)
        .limit(1000)
    )
    return list(session.scalars(query))


def host_names(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Names of hosts."""
    wanted = {one for one in ids if one is not None}
    if not wanted:
        return {}
    return {
        row.id: row.name for row in session.execute(select(Host.id, Host.name).where(Host.id.in_(wanted)))
    }
