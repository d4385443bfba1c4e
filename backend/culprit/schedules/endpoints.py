"""Schedules and maintenance over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.infra.db import Db
from culprit.kit.clock import now
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.models import MaintenanceWindow, Schedule, ScheduleFiring
from culprit.schedules import queries, read, service, windows
from culprit.schedules.schemas import (
    CadencePreview,
    CadenceRead,
    FiringRead,
    MaintenanceCreate,
    MaintenanceRead,
    ScheduleCreate,
    ScheduleRead,
    ScheduleUpdate,
)

router = APIRouter(tags=["schedules"])


@router.get("/schedules")
def list_schedules(
    db: Db,
    actor: CurrentActor,
    state: Annotated[str | None, Query(pattern="^(active|paused|done)$")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ScheduleRead]:
    """Those that capture a visible host, the newest first."""
    policy(actor, "schedule.read")

    def shown(rows: Sequence[Schedule]) -> list[ScheduleRead]:
        return read.schedules(db, actor, rows)

    return page(db, queries.schedules(actor, state), Schedule.id, limit=limit, cursor=cursor, read=shown)


@router.post("/schedules", status_code=201, response_model=ScheduleRead)
def create_schedule(
    body: ScheduleCreate, db: Db, actor: CurrentActor, once: Once
) -> ScheduleRead | JSONResponse:
    """A schedule of one's own. Tracing with ptrace is never scheduled; deep tools wait for an administrator's yes."""
    return once(body, lambda: read.schedules(db, actor, [service.create(db, actor, body)])[0])


@router.post("/schedules/preview")
def preview_schedule(body: CadencePreview, db: Db, actor: CurrentActor) -> CadenceRead:
    """When it would be due, in its zone and in UTC. Nothing is stored."""
    policy(actor, "schedule.read")
    return read.preview(db, actor, body)


@router.get("/schedules/{schedule_id}")
def get_schedule(schedule_id: UUID, db: Db, actor: CurrentActor) -> ScheduleRead:
    """One schedule, with its next due instants and what became of the last ones."""
    policy(actor, "schedule.read")
    return read.schedules(db, actor, [service.found(db, actor, schedule_id)])[0]


@router.patch("/schedules/{schedule_id}")
def update_schedule(schedule_id: UUID, body: ScheduleUpdate, db: Db, actor: CurrentActor) -> ScheduleRead:
    """What is not mentioned stays. Who changes what, where or when it captures owns it from then on."""
    return read.schedules(db, actor, [service.update(db, actor, schedule_id, body)])[0]


@router.delete("/schedules/{schedule_id}", status_code=204)
def remove_schedule(schedule_id: UUID, db: Db, actor: CurrentActor) -> None:
    """What it captured stays."""
    service.remove(db, actor, schedule_id)


@router.get("/schedules/{schedule_id}/firings")
def list_firings(
    schedule_id: UUID, db: Db, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[FiringRead]:
    """What became of each due instant, the latest decision first."""
    policy(actor, "schedule.read")
    one = service.found(db, actor, schedule_id)

    def shown(rows: Sequence[ScheduleFiring]) -> list[FiringRead]:
        captures = queries.captures(db, (row.capture_id for row in rows if row.capture_id))
        return read.firings(rows, captures)

    return page(db, queries.firings(one.id), ScheduleFiring.id, limit=limit, cursor=cursor, read=shown)


@router.get("/maintenance")
def list_windows(
    db: Db, actor: CurrentActor, *, over: bool = False, limit: Limit = 100, cursor: Cursor = None
) -> Page[MaintenanceRead]:
    """Times in which no scheduled capture starts; with `over` those that have ended, too."""
    policy(actor, "schedule.read")

    def shown(rows: Sequence[MaintenanceWindow]) -> list[MaintenanceRead]:
        return windows.read(db, rows)

    query = queries.windows(actor, None if over else now())
    return page(db, query, MaintenanceWindow.id, limit=limit, cursor=cursor, read=shown)


@router.post("/maintenance", status_code=201, response_model=MaintenanceRead)
def add_window(
    body: MaintenanceCreate, db: Db, actor: CurrentActor, once: Once
) -> MaintenanceRead | JSONResponse:
    """Keeps scheduled captures away from a host, from all with some labels, or from everywhere."""
    return once(body, lambda: windows.add(db, actor, body))


@router.delete("/maintenance/{window_id}", status_code=204)
def remove_window(window_id: UUID, db: Db, actor: CurrentActor) -> None:
    """Ends it now, or forgets it where it has not begun."""
    windows.remove(db, actor, window_id)
