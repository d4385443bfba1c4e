"""Kill switches over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from culprit.auth.dependencies import CurrentActor
from culprit.auth.policy import policy
from culprit.captures.endpoints import News
from culprit.infra.db import Db
from culprit.killswitch import queries, service
from culprit.killswitch.schemas import KillSwitchPull, KillSwitchRead

router = APIRouter(tags=["kill switches"])


@router.get("/kill-switches")
def list_kill_switches(db: Db, actor: CurrentActor, *, lifted: bool = False) -> list[KillSwitchRead]:
    """Those that hold now, the newest first; with `lifted` also the last ones that do not any more."""
    policy(actor, "kill_switch.read")
    return service.read(db, db.scalars(queries.switches(actor, lifted=lifted)).all())


@router.post("/kill-switches", status_code=201)
def pull_kill_switch(body: KillSwitchPull, db: Db, actor: CurrentActor, news: News) -> KillSwitchRead:
    """Nothing starts there from now on. Sending it twice is harmless and needs no key."""
    switch, cancelled = service.pull(db, actor, news, body)
    return service.read(db, [switch], cancelled)[0]


@router.post("/kill-switches/{switch_id}/lift")
def lift_kill_switch(switch_id: UUID, db: Db, actor: CurrentActor) -> KillSwitchRead:
    """Captures may start there again."""
    return service.read(db, [service.lift(db, actor, switch_id)])[0]
