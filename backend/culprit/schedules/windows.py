"""Maintenance: times in which no scheduled capture starts, and whose they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.captures.schemas import HostRef, UserRef
from culprit.core.cron import normal, zone_of
from culprit.core.maintenance import Ahead, Recurrence, Time, least_apart, times
from culprit.kit.clock import now
from culprit.kit.errors import Forbidden, Invalid, NotFound
from culprit.models import Host, MaintenanceWindow
from culprit.schedules import queries, service
from culprit.schedules.schemas import LONGEST, MaintenanceCreate, MaintenanceRead, MaintenanceTime, Recurring

#: So many times of a window are shown.
SHOWN = 5
#: Until when a window holds that nobody can read any more and that has no end.
FAR = datetime(2200, 1, 1, tzinfo=UTC)


class Window:
    """A row with its times, for one look at what holds from `after` on."""

    def __init__(self, row: MaintenanceWindow, after: datetime) -> None:
        self.row = row
        self._ahead = Ahead(_times(row, after))

    def over(self, host: Host, at: datetime) -> Held | None:
        """Whether it holds a scheduled capture of `host` back at `at`."""
        row = self.row
        if row.host_id is not None:
            meant = row.host_id == host.id
        else:
            meant = all(host.labels.get(name) == value for name, value in (row.selector or {}).items())
        until = self._ahead.until(at) if meant else None
        return None if until is None else Held(row, until)


@dataclass(frozen=True, slots=True)
class Held:
    """The window that is over a host, and when its time ends."""

    row: MaintenanceWindow
    until: datetime


def _times(row: MaintenanceWindow, after: datetime) -> Iterator[Time]:
    try:
        return times(row.starts_at, row.ends_at, _recurrence(row), after)
    except ValueError:
        # Its fields or its zone are known no more. Who asked for maintenance gets too much of it rather than none.
        return iter([Time(row.starts_at, row.ends_at or FAR)])


def _recurrence(row: MaintenanceWindow) -> Recurrence | None:
    if row.cron is None or row.zone is None or row.minutes is None:
        return None
    return Recurrence(normal(row.cron), zone_of(row.zone), timedelta(minutes=row.minutes))


def between(session: Session, start: datetime, end: datetime) -> list[Window]:
    """The windows that may hold something back from `start` until `end`."""
    return [Window(row, start) for row in queries.windows_between(session, start, end)]


def covering(windows: Iterable[Window], host: Host, at: datetime) -> Held | None:
    """Of the windows over a host, the one that ends last."""
    found = [held for one in windows if (held := one.over(host, at)) is not None]
    return max(found, key=lambda one: one.until, default=None)


def over_host(session: Session, host: Host, at: datetime) -> Held | None:
    """What holds a host back at `at`, if anything does."""
    return covering(between(session, at, at), host, at)


def over_all(windows: Sequence[Window], hosts: Sequence[Host], at: datetime) -> Held | None:
    """Where every one of `hosts` is held back at `at`: the window that ends first."""
    held = [covering(windows, host, at) for host in hosts]
    found = [one for one in held if one is not None]
    return min(found, key=lambda one: one.until) if found and len(found) == len(held) else None


def in_maintenance(held: Held) -> dict[str, object]:
    """Why a scheduled capture does not start within a window."""
    until = held.until.isoformat(timespec="minutes")
    return {"key": "schedule.in_maintenance", "params": {"reason": held.row.reason, "until": until}}


def read(session: Session, rows: Sequence[MaintenanceWindow]) -> list[MaintenanceRead]:
    """Windows as they are sent."""
    hosts = queries.host_names(session, (one.host_id for one in rows))
    people = queries.people(session, (one.created_by for one in rows))
    at = now()
    found = []
    for one in rows:
        to_come = list(islice(_times(one, at), SHOWN))
        found.append(
            MaintenanceRead(
                id=one.id,
                starts_at=one.starts_at,
                ends_at=one.ends_at,
                recurs=_recurs(one),
                times=[
                    MaintenanceTime(starts_at=each.start, ends_at=each.end, kind=each.kind)
                    for each in to_come
                ],
                reason=one.reason,
                host=HostRef(id=one.host_id, name=hosts[one.host_id])
                if one.host_id in hosts and one.host_id
                else None,
                labels=one.selector,
                by=UserRef(id=one.created_by, name=people[one.created_by])
                if one.created_by in people and one.created_by
                else None,
                state="over" if not to_come else "now" if to_come[0].start <= at else "to_come",
            )
        )
    return found


def _recurs(one: MaintenanceWindow) -> Recurring | None:
    if one.cron is None or one.zone is None or one.minutes is None:
        return None
    return Recurring(cron=one.cron, zone=one.zone, minutes=one.minutes)


def add(session: Session, actor: Actor, wanted: MaintenanceCreate) -> MaintenanceRead:
    """Keeps scheduled captures away. Raises NotFound, Forbidden, Invalid."""
    policy(actor, "maintenance.manage")
    if wanted.host_id is not None and not queries.visible_hosts(session, actor, [wanted.host_id]):
        raise NotFound("host.not_found")
    if wanted.host_id is not None and wanted.labels is not None:
        raise Invalid("maintenance.host_or_labels")
    if wanted.recurs is None:
        _check_span(wanted.starts_at, wanted.ends_at)
    recurs = _understood(wanted.recurs) if wanted.recurs else None
    if wanted.host_id is None:
        _within_scope(actor, wanted.labels or {})
    one = MaintenanceWindow(
        starts_at=wanted.starts_at,
        ends_at=wanted.ends_at,
        cron=recurs.cron if recurs else None,
        zone=recurs.zone if recurs else None,
        minutes=recurs.minutes if recurs else None,
        reason=wanted.reason,
        host_id=wanted.host_id,
        selector=wanted.labels,
        created_by=actor.id,
    )
    if next(_times(one, now()), None) is None:
        raise Invalid("maintenance.no_times" if recurs else "maintenance.over")
    session.add(one)
    session.flush()
    audit.record(session, actor, "maintenance.set", "maintenance_window", one.id, **_told(one))
    return read(session, [one])[0]


def _check_span(first: datetime, last: datetime | None) -> None:
    if last is None or not first < last <= first + LONGEST:
        raise Invalid("maintenance.span", days=LONGEST.days)


def _understood(wanted: Recurring) -> Recurring:
    """The same with its fields as they are kept; each time ends before the next begins. Raises Invalid."""
    cron = service.understood_fields(wanted.cron, wanted.zone)
    apart = least_apart(cron)
    if apart is not None and timedelta(minutes=wanted.minutes) >= apart:
        raise Invalid("maintenance.no_pause", minutes=wanted.minutes, apart=apart // timedelta(minutes=1))
    return Recurring(cron=cron, zone=wanted.zone, minutes=wanted.minutes)


def _within_scope(actor: Actor, labels: dict[str, str]) -> None:
    """Whoever sees some hosts only holds back no others. Raises Forbidden."""
    for name, values in actor.label_scope.items():
        if labels.get(name) not in values:
            raise Forbidden("maintenance.outside_scope", label=name, values=", ".join(values))


def remove(session: Session, actor: Actor, window_id: UUID) -> None:
    """Ends a window that has held something back, forgets one that has not. Raises NotFound, Forbidden, Invalid."""
    policy(actor, "maintenance.manage")
    one = queries.window(session, actor, window_id)
    if one is None:
        raise NotFound("maintenance.not_found")
    if one.host_id is None:
        _within_scope(actor, one.selector or {})
    at = now()
    told = _told(one)
    if one.ends_at is not None and one.ends_at <= at:
        raise Invalid("maintenance.over")
    first = next(_times(one, one.starts_at), None)
    if first is not None and first.start < at:
        one.ends_at = at
    else:
        session.delete(one)
    audit.record(session, actor, "maintenance.ended", "maintenance_window", window_id, **told)


def _told(one: MaintenanceWindow) -> dict[str, Any]:
    return {
        "from": one.starts_at.isoformat(),
        "until": one.ends_at.isoformat() if one.ends_at else None,
        "recurs": f"{one.cron} {one.zone}" if one.cron else None,
        "minutes": one.minutes,
        "reason": one.reason,
        "host_id": str(one.host_id) if one.host_id else None,
        "labels": one.selector,
    }
