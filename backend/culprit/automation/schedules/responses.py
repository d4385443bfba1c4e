"""Build responses of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter
from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import highest_tier
from collectors.registry import COLLECTORS
from culprit.accounts.actor import Actor, find_actor
from culprit.automation.schedules import due_times, queries, service
from culprit.automation.schedules.maintenance import MaintenancePeriod, find_window_for_all, load_windows
from culprit.automation.schedules.permissions import find_refusal
from culprit.automation.schedules.schemas import (
    Cadence,
    CadencePreviewRequest,
    CadencePreviewResponse,
    CronCadence,
    MaintenanceWindowRef,
    ScheduledCapture,
    ScheduleFiringResponse,
    ScheduleResponse,
    StartedCapture,
    UpcomingTime,
)
from culprit.captures.schemas import CapturePreviewRequest
from culprit.captures.service import build_plan
from culprit.domain.scheduling.cron import DueTime, get_zone
from culprit.infra.db.clock import utc_now
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.automation.schedule_firing import ScheduleFiring
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.hosts.host import Host
from culprit.web.errors import InvalidRequestError
from culprit.web.schemas import HostRef, UserRef

MAX_NEXT_TIMES = 10
MAX_RECENT_FIRINGS = 40
#: Maintenance windows are considered this far ahead.
MAINTENANCE_HORIZON = timedelta(days=100)
State = Literal["active", "paused", "done"]
FiringState = Literal["started", "missed", "skipped", "refused"]
CatchUpMode = Literal["one", "none"]
_CADENCE: TypeAdapter[Cadence] = TypeAdapter(Cadence)


def build_preview(
    session: Session, actor: Actor, cadence_preview: CadencePreviewRequest
) -> CadencePreviewResponse:
    """Return the due times of a cadence and the maintenance that covers all hosts. Raises InvalidRequestError."""
    cadence = service.parse_cadence(cadence_preview.cadence)
    at = utc_now()
    hosts: list[Host] = []
    if cadence_preview.target is not None:
        if cadence_preview.target.labels is not None:
            hosts = queries.list_labeled_hosts(session, actor, cadence_preview.target.labels)
        else:
            hosts = queries.list_visible_hosts(session, actor, cadence_preview.target.host_ids or ())
    return CadencePreviewResponse(
        cron=cadence.cron if isinstance(cadence, CronCadence) else None,
        zone=cadence.zone,
        upcoming=build_upcoming(
            service.list_due_times(cadence, at, cadence_preview.count),
            get_zone(cadence.zone),
            hosts,
            load_windows(session, at, at + MAINTENANCE_HORIZON),
        ),
    )


def build_upcoming(
    instants: Sequence[DueTime], zone: ZoneInfo, hosts: Sequence[Host], windows: Sequence[MaintenancePeriod]
) -> list[UpcomingTime]:
    """Return due times in the local time of their zone."""
    rows = []
    for instant in instants:
        hit = find_window_for_all(windows, hosts, instant.at)
        rows.append(
            UpcomingTime(
                at=instant.at,
                local_time=instant.at.astimezone(zone),
                requested_local_time=instant.local_time.isoformat(timespec="minutes"),
                kind=instant.kind,
                window=MaintenanceWindowRef(id=hit.row.id, reason=hit.row.reason, ends_at=hit.until)
                if hit
                else None,
            )
        )
    return rows


def build_schedules(session: Session, actor: Actor, rows: Sequence[Schedule]) -> list[ScheduleResponse]:
    """Return schedules with their next due times and latest results."""
    ids = [row.id for row in rows]
    at = utc_now()
    recent = queries.load_recent_firings(session, ids, MAX_RECENT_FIRINGS)
    captures = queries.load_captures(
        session, (item.capture_id for each in recent.values() for item in each if item.capture_id)
    )
    counts = queries.count_firings(session, ids)
    named = queries.load_hosts_by_schedule(session, actor, ids)
    people = queries.load_user_names(session, (row.owner_id for row in rows))
    windows = load_windows(session, at, at + MAINTENANCE_HORIZON)
    results = []
    for row in rows:
        owner = find_actor(session, row.owner_id)
        hosts = queries.list_target_hosts(session, owner or actor, row)
        results.append(
            ScheduleResponse(
                id=row.id,
                name=row.name,
                cadence=_build_cadence(row),
                capture=ScheduledCapture.model_validate(row.capture),
                tier=str(_compute_tier(row)),
                hosts=[HostRef(id=host.id, name=host.name) for host in named.get(row.id, [])],
                labels=row.selector,
                matching=len(hosts),
                reason=row.reason,
                catch_up=cast(CatchUpMode, row.catch_up),
                tolerance_s=row.tolerance_s,
                deep_allowed=row.deep_allowed_by is not None,
                state=cast(State, row.state),
                next_due=row.next_due,
                upcoming=_build_next_times(row, at, hosts, windows),
                recent=build_firings(recent.get(row.id, []), captures),
                counts=counts.get(row.id, {}),
                owner=UserRef(id=row.owner_id, name=people.get(row.owner_id, "")),
                refusal=find_refusal(session, row, hosts),
                version=row.version,
                created_at=row.created_at,
                updated_at=row.updated_at,
            )
        )
    return results


def _build_cadence(schedule: Schedule) -> Cadence:
    values: dict[str, object] = {"kind": schedule.kind, "zone": schedule.zone}
    values |= {"cron": schedule.cron} if schedule.cron is not None else {"local_time": schedule.local_time}
    return _CADENCE.validate_python(values)


def _compute_tier(schedule: Schedule) -> Tier:
    """Return the current tier of the plan; collectors that no longer exist are ignored."""
    requested = ScheduledCapture.model_validate(schedule.capture)
    try:
        return build_plan(CapturePreviewRequest.model_construct(host_ids=[], **requested.model_dump())).tier
    except InvalidRequestError:
        return highest_tier(name for name in requested.collectors or () if name in COLLECTORS)


def _build_next_times(
    schedule: Schedule, at: datetime, hosts: Sequence[Host], windows: Sequence[MaintenancePeriod]
) -> list[UpcomingTime]:
    if schedule.state != "active":
        return []
    try:
        zone = get_zone(schedule.zone)
        return build_upcoming(
            list(islice(due_times.list_due_times(schedule, at), MAX_NEXT_TIMES)), zone, hosts, windows
        )
    except ValueError:
        return []


def build_firings(
    rows: Sequence[ScheduleFiring], captures: dict[UUID, Capture]
) -> list[ScheduleFiringResponse]:
    """Return the results of due times with the captures that they started."""
    results = []
    for row in rows:
        capture = captures.get(row.capture_id) if row.capture_id else None
        results.append(
            ScheduleFiringResponse(
                id=row.id,
                due_at=row.due_at,
                last_due_at=row.last_due_at,
                count=row.count,
                state=cast(FiringState, row.state),
                reason=row.reason,
                capture=StartedCapture(id=capture.id, number=capture.number, state=capture.state)
                if capture
                else None,
                at=row.at,
            )
        )
    return results
