"""HTTP endpoints of watchers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.automation.watchers import queries, responses, service
from culprit.automation.watchers.schemas import (
    ConditionKindResponse,
    WatcherCreate,
    WatcherKind,
    WatcherResponse,
)
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(tags=["watchers"])


@router.get("/watchers")
def list_watchers(  # noqa: PLR0917 - one parameter per query parameter
    db: DbDep,
    actor: CurrentActor,
    kind: WatcherKind | None = None,
    host_id: UUID | None = None,
    include_ended: Annotated[bool, Query(description="Include watchers that have ended")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[WatcherResponse]:
    """List the watchers on visible hosts, newest first."""
    authorize(actor, "watcher.read")

    def build(rows: Sequence[Watcher]) -> list[WatcherResponse]:
        return responses.build_watchers(db, rows)

    query = queries.select_watchers(actor, kind=kind, host_id=host_id, include_ended=include_ended)
    return build_page(db, query, Watcher.id, limit=limit, cursor=cursor, read=build)


@router.get("/watchers/conditions")
def list_condition_kinds(actor: CurrentActor) -> list[ConditionKindResponse]:
    """List the conditions that a conditional capture can use."""
    authorize(actor, "watcher.read")
    return responses.build_condition_kinds()


@router.post("/watchers", status_code=201, response_model=WatcherResponse)
def create_watcher(
    body: WatcherCreate, db: DbDep, actor: CurrentActor, once: Once
) -> WatcherResponse | JSONResponse:
    """Start a look-back buffer or a conditional capture. A host has at most one of each."""
    return once(body, lambda: responses.build_watchers(db, [service.create_watcher(db, actor, body)])[0])


@router.get("/watchers/{watcher_id}")
def get_watcher(watcher_id: UUID, db: DbDep, actor: CurrentActor) -> WatcherResponse:
    """Return one watcher with its last readings and its cost on the host."""
    authorize(actor, "watcher.read")
    return responses.build_watchers(db, [service.get_watcher(db, actor, watcher_id)])[0]


@router.post("/watchers/{watcher_id}/stop")
def stop_watcher(watcher_id: UUID, db: DbDep, actor: CurrentActor) -> WatcherResponse:
    """Stop a watcher and remove it from the host. Captures that it started are kept."""
    return responses.build_watchers(db, [service.stop_watcher(db, actor, watcher_id)])[0]
