"""Standbys over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.infra.db import Db
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.kit.errors import NotFound
from culprit.models import Standby
from culprit.standbys import queries, read, service
from culprit.standbys.schemas import ConditionKind, StandbyCreate, StandbyRead

router = APIRouter(tags=["standbys"])


@router.get("/standbys")
def list_standbys(
    db: Db,
    actor: CurrentActor,
    kind: Literal["ring", "armed"] | None = None,
    host: Annotated[UUID | None, Query()] = None,
    *,
    over: bool = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[StandbyRead]:
    """What waits on hosts, the newest first; with `over` also what does not any more."""
    policy(actor, "standby.read")

    def shown(rows: Sequence[Standby]) -> list[StandbyRead]:
        return read.standbys(db, rows)

    query = queries.standbys(actor, kind=kind, host=host, over=over)
    return page(db, query, Standby.id, limit=limit, cursor=cursor, read=shown)


@router.get("/standbys/conditions")
def list_conditions(actor: CurrentActor) -> list[ConditionKind]:
    """What an armed capture may wait for."""
    policy(actor, "standby.read")
    return read.kinds()


@router.post("/standbys", status_code=201, response_model=StandbyRead)
def create_standby(
    body: StandbyCreate, db: Db, actor: CurrentActor, once: Once
) -> StandbyRead | JSONResponse:
    """Keep the last minutes on a host, or capture it as soon as something begins. One of each kind a host."""
    return once(body, lambda: read.standbys(db, [service.create(db, actor, body)])[0])


@router.get("/standbys/{standby_id}")
def get_standby(standby_id: UUID, db: Db, actor: CurrentActor) -> StandbyRead:
    """One, with its last readings and what it takes of the host."""
    policy(actor, "standby.read")
    one = queries.one(db, actor, standby_id)
    if one is None:
        raise NotFound("standby.not_found")
    return read.standbys(db, [one])[0]


@router.post("/standbys/{standby_id}/end")
def end_standby(standby_id: UUID, db: Db, actor: CurrentActor) -> StandbyRead:
    """Ends it before its time; nothing stays on the host. What it has captured stays."""
    return read.standbys(db, [service.end(db, actor, standby_id)])[0]
