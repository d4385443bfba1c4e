"""Maintenance windows: times in which no scheduled capture starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.automation.schedules import queries, service
from culprit.automation.schedules.schemas import (
    MAX_WINDOW,
    MaintenanceRecurrence,
    MaintenanceTime,
    MaintenanceWindowCreate,
    MaintenanceWindowResponse,
)
from culprit.domain.scheduling.cron import get_zone, normalize_fields
from culprit.domain.scheduling.maintenance import (
    LazyMaintenance,
    MaintenanceSpan,
    Recurrence,
    compute_shortest_interval,
    iter_maintenance_times,
)
from culprit.infra.db.clock import utc_now
from culprit.infra.models.automation.maintenance_window import MaintenanceWindow
from culprit.infra.models.hosts.host import Host
from culprit.web.errors import ForbiddenError, InvalidRequestError, NotFoundError
from culprit.web.schemas import HostRef, UserRef

#: Number of times of a window in a response.
TIMES_IN_RESPONSE = 5
#: The end of a window that has no end and whose cron fields cannot be parsed.
NO_END = datetime(2200, 1, 1, tzinfo=UTC)


class MaintenancePeriod:
    """A maintenance window with its times from `after` on."""

    def __init__(self, row: MaintenanceWindow, after: datetime) -> None:
        self.row = row
        self._ahead = LazyMaintenance(_compute_times(row, after))

    def find_hit(self, host: Host, at: datetime) -> MaintenanceHit | None:
        """Return the hit if the window prevents a scheduled capture of `host` at `at`, otherwise None."""
        row = self.row
        if row.host_id is not None:
            meant = row.host_id == host.id
        else:
            meant = all(host.labels.get(name) == value for name, value in (row.selector or {}).items())
        until = self._ahead.find_end(at) if meant else None
        return None if until is None else MaintenanceHit(row, until)


@dataclass(frozen=True, slots=True)
class MaintenanceHit:
    """A window that covers a host, and the end of its current time."""

    row: MaintenanceWindow
    until: datetime


def _compute_times(row: MaintenanceWindow, after: datetime) -> Iterator[MaintenanceSpan]:
    try:
        return iter_maintenance_times(row.starts_at, row.ends_at, _build_recurrence(row), after)
    except ValueError:
        # If the cron fields or the zone can no longer be parsed, the window is always active, which is safer.
        return iter([MaintenanceSpan(row.starts_at, row.ends_at or NO_END)])


def _build_recurrence(row: MaintenanceWindow) -> Recurrence | None:
    if row.cron is None or row.zone is None or row.minutes is None:
        return None
    return Recurrence(normalize_fields(row.cron), get_zone(row.zone), timedelta(minutes=row.minutes))


def load_windows(session: Session, start: datetime, end: datetime) -> list[MaintenancePeriod]:
    """Return the windows that may have a time between `start` and `end`."""
    return [MaintenancePeriod(row, start) for row in queries.list_windows_between(session, start, end)]


def find_window(windows: Iterable[MaintenancePeriod], host: Host, at: datetime) -> MaintenanceHit | None:
    """Return the hit that ends last, of the windows that cover a host, or None."""
    hits = [hit for window in windows if (hit := window.find_hit(host, at)) is not None]
    return max(hits, key=lambda hit: hit.until, default=None)


def find_window_for_host(session: Session, host: Host, at: datetime) -> MaintenanceHit | None:
    """Return the hit that covers a host at `at`, or None."""
    return find_window(load_windows(session, at, at), host, at)


def find_window_for_all(
    windows: Sequence[MaintenancePeriod], hosts: Sequence[Host], at: datetime
) -> MaintenanceHit | None:
    """Return the hit that ends first if every host is covered at `at`, otherwise None."""
    hits = [hit for host in hosts if (hit := find_window(windows, host, at)) is not None]
    return min(hits, key=lambda hit: hit.until) if hits and len(hits) == len(hosts) else None


def describe_maintenance(hit: MaintenanceHit) -> dict[str, object]:
    """Return the reason why a scheduled capture did not start within a window."""
    until = hit.until.isoformat(timespec="minutes")
    return {"key": "schedule.in_maintenance", "params": {"reason": hit.row.reason, "until": until}}


def build_windows(session: Session, rows: Sequence[MaintenanceWindow]) -> list[MaintenanceWindowResponse]:
    """Build the responses of maintenance windows."""
    hosts = queries.load_host_names(session, (row.host_id for row in rows))
    people = queries.load_user_names(session, (row.created_by for row in rows))
    at = utc_now()
    results = []
    for row in rows:
        upcoming = list(islice(_compute_times(row, at), TIMES_IN_RESPONSE))
        results.append(
            MaintenanceWindowResponse(
                id=row.id,
                starts_at=row.starts_at,
                ends_at=row.ends_at,
                recurs=_build_recurrence_response(row),
                times=[
                    MaintenanceTime(starts_at=each.start, ends_at=each.end, kind=each.kind)
                    for each in upcoming
                ],
                reason=row.reason,
                host=HostRef(id=row.host_id, name=hosts[row.host_id])
                if row.host_id in hosts and row.host_id
                else None,
                labels=row.selector,
                by=UserRef(id=row.created_by, name=people[row.created_by])
                if row.created_by in people and row.created_by
                else None,
                state="ended" if not upcoming else "active" if upcoming[0].start <= at else "upcoming",
            )
        )
    return results


def _build_recurrence_response(maintenance_window: MaintenanceWindow) -> MaintenanceRecurrence | None:
    if (
        maintenance_window.cron is None
        or maintenance_window.zone is None
        or maintenance_window.minutes is None
    ):
        return None
    return MaintenanceRecurrence(
        cron=maintenance_window.cron, zone=maintenance_window.zone, minutes=maintenance_window.minutes
    )


def create_window(
    session: Session, actor: Actor, maintenance_create: MaintenanceWindowCreate
) -> MaintenanceWindowResponse:
    """Create a maintenance window. Raises NotFoundError, ForbiddenError, InvalidRequestError."""
    authorize(actor, "maintenance.manage")
    if maintenance_create.host_id is not None and not queries.list_visible_hosts(
        session, actor, [maintenance_create.host_id]
    ):
        raise NotFoundError("host.not_found")
    if maintenance_create.host_id is not None and maintenance_create.labels is not None:
        raise InvalidRequestError("maintenance.host_or_labels")
    if maintenance_create.recurs is None:
        _validate_span(maintenance_create.starts_at, maintenance_create.ends_at)
    recurs = _parse_recurrence(maintenance_create.recurs) if maintenance_create.recurs else None
    if maintenance_create.host_id is None:
        _require_in_scope(actor, maintenance_create.labels or {})
    maintenance_window = MaintenanceWindow(
        starts_at=maintenance_create.starts_at,
        ends_at=maintenance_create.ends_at,
        cron=recurs.cron if recurs else None,
        zone=recurs.zone if recurs else None,
        minutes=recurs.minutes if recurs else None,
        reason=maintenance_create.reason,
        host_id=maintenance_create.host_id,
        selector=maintenance_create.labels,
        created_by=actor.id,
    )
    if next(_compute_times(maintenance_window, utc_now()), None) is None:
        raise InvalidRequestError("maintenance.no_times" if recurs else "maintenance.over")
    session.add(maintenance_window)
    session.flush()
    audit.record_action(
        session,
        actor,
        "maintenance.set",
        "maintenance_window",
        maintenance_window.id,
        **_audit_details(maintenance_window),
    )
    return build_windows(session, [maintenance_window])[0]


def _validate_span(first: datetime, last: datetime | None) -> None:
    if last is None or not first < last <= first + MAX_WINDOW:
        raise InvalidRequestError("maintenance.span", days=MAX_WINDOW.days)


def _parse_recurrence(recurring: MaintenanceRecurrence) -> MaintenanceRecurrence:
    """Return the recurrence with normalized fields; each time must end before the next begins.

    Raises InvalidRequestError.
    """
    cron = service.parse_cron_fields(recurring.cron, recurring.zone)
    apart = compute_shortest_interval(cron)
    if apart is not None and timedelta(minutes=recurring.minutes) >= apart:
        raise InvalidRequestError(
            "maintenance.no_pause", minutes=recurring.minutes, apart=apart // timedelta(minutes=1)
        )
    return MaintenanceRecurrence(cron=cron, zone=recurring.zone, minutes=recurring.minutes)


def _require_in_scope(actor: Actor, labels: dict[str, str]) -> None:
    """Require that the labels are within the actor's label scope. Raises ForbiddenError."""
    for name, values in actor.label_scope.items():
        if labels.get(name) not in values:
            raise ForbiddenError("maintenance.outside_scope", label=name, values=", ".join(values))


def delete_window(session: Session, actor: Actor, window_id: UUID) -> None:
    """End a window that has begun, or delete one that has not.

    Raises NotFoundError, ForbiddenError, InvalidRequestError.
    """
    authorize(actor, "maintenance.manage")
    item = queries.lock_window(session, actor, window_id)
    if item is None:
        raise NotFoundError("maintenance.not_found")
    if item.host_id is None:
        _require_in_scope(actor, item.selector or {})
    at = utc_now()
    reported = _audit_details(item)
    if item.ends_at is not None and item.ends_at <= at:
        raise InvalidRequestError("maintenance.over")
    first = next(_compute_times(item, item.starts_at), None)
    if first is not None and first.start < at:
        item.ends_at = at
    else:
        session.delete(item)
    audit.record_action(session, actor, "maintenance.ended", "maintenance_window", window_id, **reported)


def _audit_details(maintenance_window: MaintenanceWindow) -> dict[str, Any]:
    return {
        "from": maintenance_window.starts_at.isoformat(),
        "until": maintenance_window.ends_at.isoformat() if maintenance_window.ends_at else None,
        "recurs": f"{maintenance_window.cron} {maintenance_window.zone}" if maintenance_window.cron else None,
        "minutes": maintenance_window.minutes,
        "reason": maintenance_window.reason,
        "host_id": str(maintenance_window.host_id) if maintenance_window.host_id else None,
        "labels": maintenance_window.selector,
    }
