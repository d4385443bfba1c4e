"""HTTP endpoints of kill switches."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.automation.kill_switch import queries, service
from culprit.automation.kill_switch.schemas import KillSwitchCreate, KillSwitchResponse
from culprit.infra.request_dependencies import DbDep, EventPublisherDep

router = APIRouter(tags=["kill switches"])


@router.get("/kill-switches")
def list_kill_switches(
    db: DbDep, actor: CurrentActor, *, include_inactive: bool = False
) -> list[KillSwitchResponse]:
    """List the active switches, newest first; with `include_inactive`, also the latest inactive ones."""
    authorize(actor, "kill_switch.read")
    return service.build_switches(
        db, db.scalars(queries.select_switches(actor, include_inactive=include_inactive)).all()
    )


@router.post("/kill-switches", status_code=201)
def activate_kill_switch(
    body: KillSwitchCreate, db: DbDep, actor: CurrentActor, publisher: EventPublisherDep
) -> KillSwitchResponse:
    """Activate a kill switch: nothing starts there from now on. Repeating it is harmless and needs no key."""
    switch, canceled = service.activate_switch(db, actor, publisher, body)
    return service.build_switches(db, [switch], canceled)[0]


@router.delete("/kill-switches/{switch_id}")
def deactivate_kill_switch(switch_id: UUID, db: DbDep, actor: CurrentActor) -> KillSwitchResponse:
    """Deactivate a kill switch: captures can start there again."""
    return service.build_switches(db, [service.deactivate_switch(db, actor, switch_id)])[0]
