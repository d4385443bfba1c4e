"""Create, change and delete schedules."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.orm import Session

from collectors.contract import Tier
from culprit.accounts import audit
from culprit.accounts.actor import Actor, build_actor
from culprit.accounts.authorization import authorize, can_see_all_with_labels, require_covered
from culprit.automation.schedules import due_times, queries
from culprit.automation.schedules.permissions import build_permitted_plan
from culprit.automation.schedules.schemas import (
    Cadence,
    CronCadence,
    OnceCadence,
    ScheduleCreate,
    ScheduledCapture,
    ScheduleTarget,
    ScheduleUpdate,
)
from culprit.domain.scheduling import cron as cron_fields
from culprit.domain.scheduling.cron import (
    DueTime,
    get_zone,
    normalize_fields,
    resolve_local_time,
)
from culprit.infra.db.clock import utc_now
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.automation.schedule_host import ScheduleHost
from culprit.infra.models.hosts.host import Host
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError


def parse_cadence(cadence: Cadence) -> Cadence:
    """Return the cadence with normalized fields. Raises InvalidRequestError."""
    if isinstance(cadence, OnceCadence):
        _require_known_zone(cadence.zone)
        return cadence
    return CronCadence(kind="cron", cron=parse_cron_fields(cadence.cron, cadence.zone), zone=cadence.zone)


def parse_cron_fields(cron: str, zone: str) -> str:
    """Return normalized cron fields. Raises InvalidRequestError."""
    _require_known_zone(zone)
    try:
        return normalize_fields(cron)
    except ValueError as error:
        raise InvalidRequestError("schedule.cron_unreadable", what=str(error)[:200]) from None


def _require_known_zone(zone: str) -> None:
    try:
        get_zone(zone)
    except ValueError:
        raise InvalidRequestError("schedule.no_such_zone", zone=zone) from None


def iter_cadence(cadence: Cadence, after: datetime) -> Iterator[DueTime]:
    """Yield the due times after `after`. The cadence is normalized."""
    zone = get_zone(cadence.zone)
    if isinstance(cadence, CronCadence):
        return cron_fields.iter_due_times(cadence.cron, zone, after)
    result = resolve_local_time(cadence.local_time, zone)
    return iter([result] if result.at > after else [])


def create_schedule(session: Session, actor: Actor, schedule_create: ScheduleCreate) -> Schedule:
    """Create a schedule owned by the actor.

    Raises InvalidRequestError, ForbiddenError, ConflictError, NotFoundError.
    """
    authorize(actor, "schedule.manage")
    if queries.find_schedule_id(session, schedule_create.name) is not None:
        raise ConflictError("schedule.name_taken", name=schedule_create.name)
    schedule = Schedule(
        id=new_uuid7(),
        name=schedule_create.name,
        owner_id=actor.id,
        created_by=actor.id,
        reason=schedule_create.reason,
        catch_up=schedule_create.catch_up,
        tolerance_s=schedule_create.tolerance_s,
    )
    hosts = _list_target_hosts(session, actor, schedule_create.target)
    _set_cadence(schedule, schedule_create.cadence)
    tier = _set_capture(actor, schedule, schedule_create.capture, hosts)
    _allow_deep(actor, schedule, tier, allow=schedule_create.allow_deep)
    session.add(schedule)
    session.flush()
    _set_target(session, schedule, schedule_create.target)
    audit.record_action(
        session, actor, "schedule.created", "schedule", schedule.id, **_audit_details(schedule, hosts)
    )
    return schedule


def update_schedule(
    session: Session, actor: Actor, schedule_id: UUID, schedule_update: ScheduleUpdate
) -> Schedule:
    """Change a schedule. The user who changes plan, hosts or times becomes the owner.

    A label scope must cover every host that it captures, before and after the change.

    Raises InvalidRequestError, ForbiddenError, ConflictError, NotFoundError.
    """
    authorize(actor, "schedule.manage")
    item = get_schedule(session, actor, schedule_id, lock=True)
    _require_covered(session, actor, item)
    if item.version != schedule_update.version:
        raise ConflictError("schedule.changed_meanwhile", name=item.name)
    if schedule_update.name is not None and schedule_update.name != item.name:
        if queries.find_schedule_id(session, schedule_update.name) is not None:
            raise ConflictError("schedule.name_taken", name=schedule_update.name)
        item.name = schedule_update.name
    at = utc_now()
    if schedule_update.cadence is not None or schedule_update.paused is not None:
        due_times.skip_due_times(session, item, at, actor.name, "schedule.missed_by_change")
    hosts = _update_capture_and_target(session, actor, item, schedule_update)
    for name in ("reason", "catch_up", "tolerance_s"):
        if (value := getattr(schedule_update, name)) is not None:
            setattr(item, name, value)
    if schedule_update.cadence is not None:
        _set_cadence(item, schedule_update.cadence, paused=item.state == "paused")
    if schedule_update.paused is not None:
        _set_paused(item, at, paused=schedule_update.paused)
    item.version += 1
    item.updated_at = at
    session.flush()
    changed = sorted(schedule_update.model_fields_set - {"version"})
    audit.record_action(
        session,
        actor,
        "schedule.changed",
        "schedule",
        item.id,
        changed=changed,
        **_audit_details(item, hosts),
    )
    return item


def _update_capture_and_target(
    session: Session, actor: Actor, schedule: Schedule, schedule_update: ScheduleUpdate
) -> list[Host]:
    """Set what and where it captures; return the hosts that it would capture now."""
    if schedule_update.target is not None:
        hosts = _list_target_hosts(session, actor, schedule_update.target)
        _set_target(session, schedule, schedule_update.target)
    else:
        hosts = queries.list_target_hosts(session, actor, schedule)
    stored = ScheduledCapture.model_validate(schedule.capture)
    if (
        schedule_update.target is not None
        or schedule_update.capture is not None
        or schedule_update.cadence is not None
    ):
        tier = _set_capture(actor, schedule, schedule_update.capture or stored, hosts)
        schedule.owner_id = actor.id
        # An approval of the deep tier covers only the previous version; an admin can approve this one too.
        schedule.deep_allowed_by = None
        _allow_deep(actor, schedule, tier, allow=bool(schedule_update.allow_deep))
    elif schedule_update.allow_deep is not None:
        authorize(actor, "schedule.allow_deep")
        schedule.deep_allowed_by = actor.id if schedule_update.allow_deep else None
    return hosts


def delete_schedule(session: Session, actor: Actor, schedule_id: UUID) -> None:
    """Delete a schedule and its results; its captures are kept.

    Raises NotFoundError, ForbiddenError.
    """
    authorize(actor, "schedule.manage")
    item = get_schedule(session, actor, schedule_id, lock=True)
    _require_covered(session, actor, item)
    reported = _audit_details(item, queries.list_target_hosts(session, actor, item))
    session.delete(item)
    session.flush()
    audit.record_action(session, actor, "schedule.removed", "schedule", schedule_id, **reported)


def get_schedule(session: Session, actor: Actor, schedule_id: UUID, *, lock: bool = False) -> Schedule:
    """Return a visible schedule. Raises NotFoundError."""
    item = queries.find_schedule(session, actor, schedule_id, lock=lock)
    if item is None:
        raise NotFoundError("schedule.not_found")
    return item


def _require_covered(session: Session, actor: Actor, schedule: Schedule) -> None:
    """Raise ForbiddenError if it can capture hosts outside the actor's scope, now or after a label change."""
    if actor.unrestricted:
        return
    owner = build_actor(session.get_one(UserAccount, schedule.owner_id))
    if schedule.selector is not None:
        covered = can_see_all_with_labels(actor, schedule.selector, owner.label_scope)
    else:
        covered = not queries.names_hidden_host(session, actor, owner, schedule)
    require_covered(actor, covered=covered)


def _list_target_hosts(session: Session, actor: Actor, target: ScheduleTarget) -> list[Host]:
    if target.labels is not None:
        return queries.list_labeled_hosts(session, actor, target.labels)
    host_ids = set(target.host_ids or ())
    hosts = queries.list_visible_hosts(session, actor, host_ids)
    if len(hosts) != len(host_ids):
        raise NotFoundError("host.not_found")
    return hosts


def _set_target(session: Session, schedule: Schedule, target: ScheduleTarget) -> None:
    schedule.selector = dict(target.labels) if target.labels is not None else None
    session.execute(delete(ScheduleHost).where(ScheduleHost.schedule_id == schedule.id))
    session.add_all(
        ScheduleHost(schedule_id=schedule.id, host_id=host) for host in set(target.host_ids or ())
    )
    session.flush()


def _set_cadence(schedule: Schedule, requested_cadence: Cadence, *, paused: bool = False) -> None:
    cadence = parse_cadence(requested_cadence)
    due = next(iter_cadence(cadence, utc_now()), None)
    if due is None:
        raise InvalidRequestError(
            "schedule.in_the_past" if isinstance(cadence, OnceCadence) else "schedule.never"
        )
    schedule.kind, schedule.zone = cadence.kind, cadence.zone
    schedule.cron = cadence.cron if isinstance(cadence, CronCadence) else None
    schedule.local_time = cadence.local_time if isinstance(cadence, OnceCadence) else None
    schedule.state, schedule.next_due = ("paused", None) if paused else ("active", due.at)


def _set_paused(schedule: Schedule, at: datetime, *, paused: bool) -> None:
    if paused:
        if schedule.state == "active":
            schedule.state, schedule.next_due = "paused", None
        return
    if schedule.state == "paused":
        due = next(due_times.list_due_times(schedule, at), None)
        if due is None:
            raise InvalidRequestError("schedule.in_the_past" if schedule.kind == "once" else "schedule.never")
        due_times.set_next_due(schedule, due.at)


def _set_capture(actor: Actor, schedule: Schedule, requested: ScheduledCapture, hosts: list[Host]) -> Tier:
    plan = build_permitted_plan(actor, requested, hosts)
    schedule.capture = requested.model_dump(mode="json", exclude_none=True)
    return plan.tier


def _allow_deep(actor: Actor, schedule: Schedule, tier: Tier, *, allow: bool) -> None:
    if allow and tier is Tier.DEEP:
        authorize(actor, "schedule.allow_deep")
        schedule.deep_allowed_by = actor.id


def _audit_details(schedule: Schedule, hosts: list[Host]) -> dict[str, Any]:
    """Return a schedule as recorded in the audit log."""
    return {
        "name": schedule.name,
        "due": schedule.cron or (schedule.local_time.isoformat() if schedule.local_time else ""),
        "zone": schedule.zone,
        "capture": schedule.capture,
        "labels": schedule.selector,
        "hosts": [host.name for host in hosts],
        "state": schedule.state,
        "deep_allowed": schedule.deep_allowed_by is not None,
    }


def list_due_times(cadence: Cadence, after: datetime, count: int) -> list[DueTime]:
    """Return the next `count` due times."""
    return list(islice(iter_cadence(cadence, after), count))
