"""Upload addresses over HTTP, for those who make them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.imports import uploads
from culprit.imports.schemas import UploadCreate, UploadRead
from culprit.infra.db import Db
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.models import UploadAddress

router = APIRouter(tags=["imports"])


@router.get("/uploads", summary="Addresses that take one bundle")
def list_uploads(db: Db, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None) -> Page[UploadRead]:
    """With what became of each, newest first."""
    policy(actor, "capture.import")

    def shown(rows: Sequence[UploadAddress]) -> list[UploadRead]:
        return uploads.read(db, rows)

    return page(db, uploads.listed(actor), UploadAddress.id, limit=limit, cursor=cursor, read=shown)


@router.post("/uploads", status_code=201, response_model=UploadRead, summary="Make an upload address")
def make_upload(
    body: UploadCreate, request: Request, db: Db, actor: CurrentActor, once: Once
) -> UploadRead | JSONResponse:
    """For a host that is reached only by its console. The address is in this answer and nowhere else."""

    def make() -> UploadRead:
        row, url = uploads.make(db, request.app.state.settings, actor, body)
        return uploads.read(db, [row], url)[0]

    return once(body, make, secret=True)


@router.delete("/uploads/{upload_id}", status_code=204, summary="Revoke an upload address")
def revoke_upload(upload_id: UUID, db: Db, actor: CurrentActor) -> None:
    """It takes nothing any more."""
    uploads.revoke(db, actor, upload_id)
