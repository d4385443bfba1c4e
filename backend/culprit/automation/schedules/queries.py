"""SELECTs of schedules and maintenance windows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, true
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import hidden_hosts_clause, visible_hosts_clause
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.automation.maintenance_window import MaintenanceWindow
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.automation.schedule_firing import ScheduleFiring
from culprit.infra.models.automation.schedule_host import ScheduleHost
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.hosts.host import Host

#: States of captures that are not finished.
OPEN = ("queued", "running")


def visible_schedules_clause(actor: Actor) -> ColumnElement[bool]:
    """Return the condition for visible schedules: own ones, and those that capture a visible host."""
    if actor.unrestricted:
        return true()
    named = and_(
        ScheduleHost.schedule_id == Schedule.id, ScheduleHost.host_id == Host.id, visible_hosts_clause(actor)
    )
    labelled = and_(
        Host.labels.contains(Schedule.selector), Host.state == "active", visible_hosts_clause(actor)
    )
    return or_(
        Schedule.owner_id == actor.id,
        exists(select(1).select_from(ScheduleHost, Host).where(named)),
        and_(Schedule.selector.is_not(None), exists(select(1).select_from(Host).where(labelled))),
    )


def select_schedules(actor: Actor, state: str | None = None) -> Select[Any]:
    """Select the visible schedules."""
    query = select(Schedule).where(visible_schedules_clause(actor))
    return query if state is None else query.where(Schedule.state == state)


def find_schedule(
    session: Session, actor: Actor, schedule_id: UUID, *, lock: bool = False
) -> Schedule | None:
    """Return a visible schedule, or None."""
    query = select_schedules(actor).where(Schedule.id == schedule_id)
    if lock:
        query = query.with_for_update(of=Schedule).execution_options(populate_existing=True)
    return session.scalars(query).first()


def find_schedule_id(session: Session, name: str) -> UUID | None:
    """Return the ID of the schedule with this name, whether visible or not."""
    return session.scalar(select(Schedule.id).where(Schedule.name == name))


def lock_due_schedules(
    session: Session, at: datetime, most: int, *, but: Collection[UUID] = ()
) -> list[Schedule]:
    """Return the schedules that have been due longest and are not locked by another scheduler, locked."""
    query = (
        select(Schedule)
        .where(Schedule.state == "active", Schedule.next_due <= at, Schedule.id.not_in(but))
        .order_by(Schedule.next_due, Schedule.id)
        .limit(most)
        .with_for_update(of=Schedule, skip_locked=True)
        .execution_options(populate_existing=True)
    )
    return list(session.scalars(query))


def load_accounts(session: Session, rows: Iterable[Schedule]) -> list[UserAccount]:
    """Return the owners of schedules and the admins who allowed their tier."""
    account_ids = {id_ for row in rows for id_ in (row.owner_id, row.deep_allowed_by) if id_ is not None}
    return list(session.scalars(select(UserAccount).where(UserAccount.id.in_(account_ids))))


def list_target_hosts(session: Session, actor: Actor, schedule: Schedule) -> list[Host]:
    """Return the active visible hosts that a schedule would capture now."""
    query = (
        select(Host).where(Host.state == "active", visible_hosts_clause(actor)).order_by(Host.name, Host.id)
    )
    if schedule.selector is not None:
        query = query.where(Host.labels.contains(schedule.selector))
    else:
        query = query.where(
            Host.id.in_(select(ScheduleHost.host_id).where(ScheduleHost.schedule_id == schedule.id))
        )
    return list(session.scalars(query))


def names_hidden_host(session: Session, actor: Actor, owner: Actor, schedule: Schedule) -> bool:
    """Return whether a schedule names a host that its owner can capture and that does not exist for the actor."""
    unseen = (
        select(ScheduleHost.host_id)
        .join(Host, Host.id == ScheduleHost.host_id)
        .where(
            ScheduleHost.schedule_id == schedule.id, visible_hosts_clause(owner), hidden_hosts_clause(actor)
        )
    )
    return session.scalars(unseen.limit(1)).first() is not None


def count_hosts(session: Session, schedule_id: UUID) -> int:
    """Return how many hosts a schedule lists by ID."""
    query = select(func.count()).where(ScheduleHost.schedule_id == schedule_id)
    return session.scalar(query) or 0


def list_visible_hosts(session: Session, actor: Actor, ids: Iterable[UUID]) -> list[Host]:
    """Return the active visible hosts among these."""
    query = select(Host).where(Host.id.in_(list(ids)), Host.state == "active", visible_hosts_clause(actor))
    return list(session.scalars(query.order_by(Host.name, Host.id)))


def list_labeled_hosts(session: Session, actor: Actor, labels: dict[str, str]) -> list[Host]:
    """Return the active visible hosts with these labels."""
    query = select(Host).where(
        Host.labels.contains(labels), Host.state == "active", visible_hosts_clause(actor)
    )
    return list(session.scalars(query.order_by(Host.name, Host.id)))


def load_hosts_by_schedule(session: Session, actor: Actor, ids: Sequence[UUID]) -> dict[UUID, list[Host]]:
    """Return the visible hosts that each schedule lists by ID."""
    query = (
        select(ScheduleHost.schedule_id, Host)
        .join(Host, Host.id == ScheduleHost.host_id)
        .where(ScheduleHost.schedule_id.in_(ids), visible_hosts_clause(actor))
        .order_by(Host.name, Host.id)
    )
    hosts: dict[UUID, list[Host]] = {}
    for row in session.execute(query):
        hosts.setdefault(row[0], []).append(row[1])
    return hosts


def load_unfinished_captures(session: Session, ids: Sequence[UUID]) -> dict[UUID, int]:
    """Return the number of the unfinished capture of each schedule that has one."""
    query = (
        select(ScheduleFiring.schedule_id, func.max(Capture.number))
        .join(Capture, ScheduleFiring.capture_id == Capture.id)
        .where(ScheduleFiring.schedule_id.in_(ids), Capture.state.in_(OPEN))
        .group_by(ScheduleFiring.schedule_id)
    )
    return {row[0]: row[1] for row in session.execute(query)}


def load_recent_firings(
    session: Session, ids: Sequence[UUID], limit: int
) -> dict[UUID, list[ScheduleFiring]]:
    """Return the newest results of each schedule, newest first."""
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
    schedule_firings: dict[UUID, list[ScheduleFiring]] = {}
    for row in session.scalars(query):
        schedule_firings.setdefault(row.schedule_id, []).append(row)
    return schedule_firings


def select_firings(schedule_id: UUID) -> Select[Any]:
    """Select the results of the due times of a schedule."""
    return select(ScheduleFiring).where(ScheduleFiring.schedule_id == schedule_id)


def count_firings(session: Session, ids: Sequence[UUID]) -> dict[UUID, dict[str, int]]:
    """Return the number of due times of each schedule by state."""
    if not ids:
        return {}
    query = (
        select(ScheduleFiring.schedule_id, ScheduleFiring.state, func.sum(ScheduleFiring.count))
        .where(ScheduleFiring.schedule_id.in_(ids))
        .group_by(ScheduleFiring.schedule_id, ScheduleFiring.state)
    )
    results: dict[UUID, dict[str, int]] = {}
    for row in session.execute(query):
        results.setdefault(row[0], {})[row[1]] = int(row[2])
    return results


def load_captures(session: Session, ids: Iterable[UUID]) -> dict[UUID, Capture]:
    """Return captures by ID."""
    requested_ids = list(ids)
    rows = session.scalars(select(Capture).where(Capture.id.in_(requested_ids))) if requested_ids else ()
    return {row.id: row for row in rows}


def load_user_names(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Return account names by ID."""
    requested_ids = {item for item in ids if item is not None}
    if not requested_ids:
        return {}
    query = select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(requested_ids))
    return {row.id: row.name for row in session.execute(query)}


def visible_windows_clause(actor: Actor) -> ColumnElement[bool]:
    """Return the condition for visible windows: those that may cover a visible host."""
    if actor.unrestricted:
        return true()
    mine = select(Host.id).where(visible_hosts_clause(actor))
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


def select_windows(actor: Actor, after: datetime | None) -> Select[Any]:
    """Select the visible windows; with `after`, only those that end later."""
    query = select(MaintenanceWindow).where(visible_windows_clause(actor))
    return query if after is None else query.where(_build_open_condition(after))


def _build_open_condition(at: datetime) -> ColumnElement[bool]:
    return or_(MaintenanceWindow.ends_at > at, MaintenanceWindow.ends_at.is_(None))


def lock_window(session: Session, actor: Actor, window_id: UUID) -> MaintenanceWindow | None:
    """Return a visible window, locked, or None."""
    query = select_windows(actor, None).where(MaintenanceWindow.id == window_id)
    return session.scalars(query.with_for_update(of=MaintenanceWindow)).first()


def list_windows_between(session: Session, start: datetime, end: datetime) -> list[MaintenanceWindow]:
    """Return all windows that overlap [start, end], whether visible or not, ordered by start."""
    query = (
        select(MaintenanceWindow)
        .where(MaintenanceWindow.starts_at <= end, _build_open_condition(start))
        .order_by(MaintenanceWindow.starts_at, MaintenanceWindow.id)
        .limit(1000)
    )
    return list(session.scalars(query))


def load_host_names(session: Session, ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Return host names by ID."""
    requested_ids = {item for item in ids if item is not None}
    if not requested_ids:
        return {}
    return {
        row.id: row.name
        for row in session.execute(select(Host.id, Host.name).where(Host.id.in_(requested_ids)))
    }


def list_recorded_due_times(session: Session, ids: Sequence[UUID]) -> set[tuple[UUID, datetime]]:
    """Return due times at or after `next_due` that already have a row, which occurs after a restored backup."""
    query = (
        select(ScheduleFiring.schedule_id, ScheduleFiring.due_at)
        .join(Schedule, Schedule.id == ScheduleFiring.schedule_id)
        .where(Schedule.id.in_(ids), ScheduleFiring.due_at >= Schedule.next_due)
    )
    return {(result[0], result[1]) for result in session.execute(query)}
