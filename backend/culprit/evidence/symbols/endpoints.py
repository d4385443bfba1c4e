"""HTTP endpoints of debuginfod servers."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.evidence.symbols import debuginfod, debuginfod_queries
from culprit.evidence.symbols.schemas import DebuginfodServerCreate, DebuginfodServerResponse
from culprit.infra.models.evidence.debuginfod_server import DebuginfodServer
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(prefix="/debuginfod-servers", tags=["debuginfod servers"])


@router.get("", summary="Debuginfod servers")
def list_debuginfod_servers(
    db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[DebuginfodServerResponse]:
    """List the servers that are requested for the symbols of stripped programs."""
    authorize(actor, "debuginfod.manage")

    def build_rows(rows: Sequence[DebuginfodServer]) -> list[DebuginfodServerResponse]:
        return [_build_response(row) for row in rows]

    return build_page(
        db,
        debuginfod_queries.select_servers(),
        DebuginfodServer.id,
        limit=limit,
        cursor=cursor,
        read=build_rows,
        newest_first=False,
    )


@router.post("", status_code=201, response_model=DebuginfodServerResponse, summary="Allow a server")
def create_debuginfod_server(
    body: DebuginfodServerCreate, db: DbDep, actor: CurrentActor, once: Once
) -> DebuginfodServerResponse | JSONResponse:
    """Allow a server. From now on, build IDs of stripped programs are sent to it, and nothing else."""
    return once(body, lambda: _build_response(debuginfod.create_server(db, actor, body)))


@router.delete("/{server_id}", status_code=204, summary="Disallow a server")
def delete_debuginfod_server(server_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Delete a server; nothing is sent to it any more."""
    debuginfod.delete_server(db, actor, server_id)


def _build_response(row: DebuginfodServer) -> DebuginfodServerResponse:
    return DebuginfodServerResponse(id=row.id, url=row.url, created_at=row.created_at)
