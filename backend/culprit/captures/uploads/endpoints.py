"""HTTP endpoints to manage upload addresses."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.captures.imports.schemas import UploadCreate, UploadResponse
from culprit.captures.uploads import service
from culprit.captures.uploads.queries import select_uploads
from culprit.infra.models.captures.upload_address import UploadAddress
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(tags=["imports"])


@router.get("/uploads", summary="List upload addresses")
def list_uploads(
    db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[UploadResponse]:
    """List upload addresses with their results, the newest first."""
    authorize(actor, "capture.import")

    def build_rows(rows: Sequence[UploadAddress]) -> list[UploadResponse]:
        return service.build_responses(db, rows)

    return build_page(
        db, select_uploads(actor), UploadAddress.id, limit=limit, cursor=cursor, read=build_rows
    )


@router.post("/uploads", status_code=201, response_model=UploadResponse, summary="Create an upload address")
def make_upload(
    body: UploadCreate, request: Request, db: DbDep, actor: CurrentActor, once: Once
) -> UploadResponse | JSONResponse:
    """Create an upload address for a host that is reachable only by its console.

    The URL is only in this response.
    """

    def make() -> UploadResponse:
        row, url = service.create_upload(db, request.app.state.settings, actor, body)
        return service.build_responses(db, [row], url)[0]

    return once(body, make, secret=True)


@router.delete("/uploads/{upload_id}", status_code=204, summary="Revoke an upload address")
def revoke_upload(upload_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Revoke an upload address. It accepts no upload afterwards."""
    service.revoke_upload(db, actor, upload_id)
