"""Incidents out of one Culprit and into another, over HTTP."""

from __future__ import annotations

import hashlib
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, File, Request, Response, UploadFile
from fastapi.responses import JSONResponse, StreamingResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.captures.endpoints import Store
from culprit.carried import bring, write
from culprit.carried.schemas import CarriedRead
from culprit.incidents import bundle, journal, queries
from culprit.infra.db import Db

router = APIRouter(tags=["incidents"])


@router.get("/incidents/{incident_id}/export", response_class=Response)
def export_incident(
    incident_id: UUID,
    request: Request,
    db: Db,
    actor: CurrentActor,
    store: Store,
    *,
    redacted: bool = False,
    comments: bool = False,
) -> Response:
    """All of an incident with the bytes of its runs, for another Culprit (zip).

    `redacted`: names of hosts, people, addresses and paths are replaced by steady pseudonyms. An artifact of which a
    parser would then read something else is left out, and the bundle says so.
    """
    incident = journal.found(db, actor, incident_id)
    file = write.write(
        db, actor, store, request.app.state.settings, incident, redacted=redacted, comments=comments
    )
    name = f"incident-{incident.number}{'-redacted' if redacted else ''}.culprit.zip"
    return StreamingResponse(
        bundle.pieces(file),
        media_type="application/zip",
        headers={
            "Content-Disposition": f"attachment; filename={name}",
            "X-Content-Type-Options": "nosniff",
        },
    )


@router.post("/incidents/import", status_code=201, response_model=CarriedRead)
def import_incident(
    request: Request,
    db: Db,
    actor: CurrentActor,
    store: Store,
    once: Once,
    *,
    file: Annotated[UploadFile, File(description="What an export of an incident wrote")],
) -> CarriedRead | JSONResponse:
    """Makes an incident out of a bundle. Its runs are read and its rules asked here anew, and the verdicts compared.

    The same file again gives the same incident.
    """
    digest = hashlib.file_digest(file.file, "sha256").hexdigest()  # type: ignore[arg-type]
    file.file.seek(0)

    def make() -> CarriedRead:
        brought = bring.bring(db, store, request.app.state.settings, actor, file.file)
        one = brought.incident
        return CarriedRead(
            id=one.id,
            number=one.number,
            title=one.title,
            runs=len(queries.runs(db, one.id)),
            new=brought.new,
        )

    return once({"sha256": digest}, make)
