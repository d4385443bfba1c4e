"""HTTP endpoints of schedules and maintenance windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.automation.schedules import maintenance, queries, responses, service
from culprit.automation.schedules.schemas import (
    CadencePreviewRequest,
    CadencePreviewResponse,
    MaintenanceWindowCreate,
    MaintenanceWindowResponse,
    ScheduleCreate,
    ScheduleFiringResponse,
    ScheduleResponse,
    ScheduleUpdate,
)
from culprit.infra.db.clock import utc_now
from culprit.infra.models.automation.maintenance_window import MaintenanceWindow
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.automation.schedule_firing import ScheduleFiring
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(tags=["schedules"])


@router.get("/schedules")
def list_schedules(
    db: DbDep,
    actor: CurrentActor,
    state: Annotated[str | None, Query(pattern="^(active|paused|done)$")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ScheduleResponse]:
    """List the schedules that capture a visible host, newest first."""
    authorize(actor, "schedule.read")

    def build_rows(rows: Sequence[Schedule]) -> list[ScheduleResponse]:
        return responses.build_schedules(db, actor, rows)

    return build_page(
        db, queries.select_schedules(actor, state), Schedule.id, limit=limit, cursor=cursor, read=build_rows
    )


@router.post("/schedules", status_code=201, response_model=ScheduleResponse)
def create_schedule(
    body: ScheduleCreate, db: DbDep, actor: CurrentActor, once: Once
) -> ScheduleResponse | JSONResponse:
    """Create a schedule. The ptrace tier is never scheduled; the deep tier requires the approval of an admin."""
    return once(
        body, lambda: responses.build_schedules(db, actor, [service.create_schedule(db, actor, body)])[0]
    )


@router.post("/schedules/preview")
def preview_schedule(body: CadencePreviewRequest, db: DbDep, actor: CurrentActor) -> CadencePreviewResponse:
    """Preview due times in the zone of the cadence and in UTC. Nothing is stored."""
    authorize(actor, "schedule.read")
    return responses.build_preview(db, actor, body)


@router.get("/schedules/{schedule_id}")
def get_schedule(schedule_id: UUID, db: DbDep, actor: CurrentActor) -> ScheduleResponse:
    """Return a schedule with its next due times and its latest results."""
    authorize(actor, "schedule.read")
    return responses.build_schedules(db, actor, [service.get_schedule(db, actor, schedule_id)])[0]


@router.patch("/schedules/{schedule_id}")
def update_schedule(
    schedule_id: UUID, body: ScheduleUpdate, db: DbDep, actor: CurrentActor
) -> ScheduleResponse:
    """Change the given fields. The user who changes plan, hosts or times becomes the owner."""
    return responses.build_schedules(db, actor, [service.update_schedule(db, actor, schedule_id, body)])[0]


@router.delete("/schedules/{schedule_id}", status_code=204)
def delete_schedule(schedule_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Delete a schedule. Its captures are kept."""
    service.delete_schedule(db, actor, schedule_id)


@router.get("/schedules/{schedule_id}/firings")
def list_firings(
    schedule_id: UUID, db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[ScheduleFiringResponse]:
    """List the result of each due time, newest first."""
    authorize(actor, "schedule.read")
    item = service.get_schedule(db, actor, schedule_id)

    def build_rows(rows: Sequence[ScheduleFiring]) -> list[ScheduleFiringResponse]:
        captures = queries.load_captures(db, (row.capture_id for row in rows if row.capture_id))
        return responses.build_firings(rows, captures)

    return build_page(
        db, queries.select_firings(item.id), ScheduleFiring.id, limit=limit, cursor=cursor, read=build_rows
    )


@router.get("/maintenance-windows")
def list_maintenance_windows(
    db: DbDep, actor: CurrentActor, *, include_ended: bool = False, limit: Limit = 100, cursor: Cursor = None
) -> Page[MaintenanceWindowResponse]:
    """List the times without scheduled captures; with `include_ended`, also past ones."""
    authorize(actor, "schedule.read")

    def build_rows(rows: Sequence[MaintenanceWindow]) -> list[MaintenanceWindowResponse]:
        return maintenance.build_windows(db, rows)

    query = queries.select_windows(actor, None if include_ended else utc_now())
    return build_page(db, query, MaintenanceWindow.id, limit=limit, cursor=cursor, read=build_rows)


@router.post("/maintenance-windows", status_code=201, response_model=MaintenanceWindowResponse)
def create_maintenance_window(
    body: MaintenanceWindowCreate, db: DbDep, actor: CurrentActor, once: Once
) -> MaintenanceWindowResponse | JSONResponse:
    """Prevent scheduled captures on a host, on all hosts with some labels, or on all hosts."""
    return once(body, lambda: maintenance.create_window(db, actor, body))


@router.delete("/maintenance-windows/{window_id}", status_code=204)
def delete_maintenance_window(window_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """End a current window, or delete a future one."""
    maintenance.delete_window(db, actor, window_id)
