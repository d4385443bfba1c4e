"""Schedules as they are sent."""

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
from collectors.plans import tier_of
from collectors.registry import COLLECTORS
from culprit.auth.actor import Actor, actor_by_id
from culprit.captures.schemas import CapturePreview, HostRef, UserRef
from culprit.captures.service import plan_of
from culprit.core.cron import Instant, zone_of
from culprit.kit.clock import now
from culprit.kit.errors import Invalid
from culprit.models import Capture, Host, Schedule, ScheduleFiring
from culprit.schedules import ledger, queries, service
from culprit.schedules.schemas import (
    Cadence,
    CadencePreview,
    CadenceRead,
    Cron,
    FiringRead,
    ScheduleRead,
    StartedCapture,
    Upcoming,
    Wanted,
    WindowRef,
)
from culprit.schedules.standing import refusal
from culprit.schedules.windows import Window, between, over_all

NEXT = 10
RECENT = 40
#: Windows are looked for so far ahead; a schedule that is due later shows none.
AHEAD = timedelta(days=100)
State = Literal["active", "paused", "done"]
Became = Literal["fired", "missed", "skipped", "refused"]
CatchUp = Literal["one", "none"]
_CADENCE: TypeAdapter[Cadence] = TypeAdapter(Cadence)


def preview(session: Session, actor: Actor, wanted: CadencePreview) -> CadenceRead:
    """When a cadence would be due, and which maintenance would hold its hosts back. Raises Invalid."""
    cadence = service.understood(wanted.cadence)
    at = now()
    hosts: list[Host] = []
    if wanted.target is not None:
        if wanted.target.labels is not None:
            hosts = queries.labelled_hosts(session, actor, wanted.target.labels)
        else:
            hosts = queries.visible_hosts(session, actor, wanted.target.host_ids or ())
    return CadenceRead(
        cron=cadence.cron if isinstance(cadence, Cron) else None,
        zone=cadence.zone,
        upcoming=shown(
            service.first(cadence, at, wanted.count),
            zone_of(cadence.zone),
            hosts,
            between(session, at, at + AHEAD),
        ),
    )


def shown(
    found: Sequence[Instant], zone: ZoneInfo, hosts: Sequence[Host], windows: Sequence[Window]
) -> list[Upcoming]:
    """Due instants with the clock of their zone."""
    rows = []
    for one in found:
        held = over_all(windows, hosts, one.at)
        rows.append(
            Upcoming(
                at=one.at,
                wall=one.at.astimezone(zone),
                wanted_wall=one.wall.isoformat(timespec="minutes"),
                kind=one.kind,
                window=WindowRef(id=held.row.id, reason=held.row.reason, ends_at=held.until)
                if held
                else None,
            )
        )
    return rows


def schedules(session: Session, actor: Actor, rows: Sequence[Schedule]) -> list[ScheduleRead]:
    """Schedules with their next and their last due instants."""
    ids = [one.id for one in rows]
    at = now()
    recent = queries.recent(session, ids, RECENT)
    captures = queries.captures(
        session, (one.capture_id for each in recent.values() for one in each if one.capture_id)
    )
    counts = queries.counts(session, ids)
    named = queries.named_hosts(session, actor, ids)
    people = queries.people(session, (one.owner_id for one in rows))
    windows = between(session, at, at + AHEAD)
    found = []
    for one in rows:
        owner = actor_by_id(session, one.owner_id)
        hosts = queries.targets(session, owner or actor, one)
        found.append(
            ScheduleRead(
                id=one.id,
                name=one.name,
                cadence=_cadence(one),
                wanted=Wanted.model_validate(one.wanted),
                tier=str(_tier(one)),
                hosts=[HostRef(id=host.id, name=host.name) for host in named.get(one.id, [])],
                labels=one.selector,
                matching=len(hosts),
                reason=one.reason,
                catch_up=cast(CatchUp, one.catch_up),
                grace_s=one.grace_s,
                deep_allowed=one.deep_allowed_by is not None,
                state=cast(State, one.state),
                next_due=one.next_due,
                upcoming=_upcoming(one, at, hosts, windows),
                recent=firings(recent.get(one.id, []), captures),
                counts=counts.get(one.id, {}),
                owner=UserRef(id=one.owner_id, name=people.get(one.owner_id, "")),
                refusal=refusal(session, one, hosts),
                version=one.version,
                created_at=one.created_at,
                updated_at=one.updated_at,
            )
        )
    return found


def _cadence(one: Schedule) -> Cadence:
    values: dict[str, object] = {"kind": one.kind, "zone": one.zone}
    values |= {"cron": one.cron} if one.cron is not None else {"wall": one.wall}
    return _CADENCE.validate_python(values)


def _tier(one: Schedule) -> Tier:
    """Of the plan as it is now; of collectors that are known no more, nothing."""
    wanted = Wanted.model_validate(one.wanted)
    try:
        return plan_of(CapturePreview.model_construct(host_ids=[], **wanted.model_dump())).tier
    except Invalid:
        return tier_of(name for name in wanted.collectors or () if name in COLLECTORS)


def _upcoming(
    one: Schedule, at: datetime, hosts: Sequence[Host], windows: Sequence[Window]
) -> list[Upcoming]:
    if one.state != "active":
        return []
    try:
        zone = zone_of(one.zone)
        return shown(list(islice(ledger.to_come(one, at), NEXT)), zone, hosts, windows)
    except ValueError:
        return []


def firings(rows: Sequence[ScheduleFiring], captures: dict[UUID, Capture]) -> list[FiringRead]:
    """What became of due instants, with the captures that they started."""
    found = []
    for one in rows:
        capture = captures.get(one.capture_id) if one.capture_id else None
        found.append(
            FiringRead(
                id=one.id,
                due_at=one.due_at,
                last_due_at=one.last_due_at,
                count=one.count,
                state=cast(Became, one.state),
                reason=one.reason,
                capture=StartedCapture(id=capture.id, number=capture.number, state=capture.state)
                if capture
                else None,
                at=one.at,
            )
        )
    return found
