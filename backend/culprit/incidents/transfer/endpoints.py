"""HTTP endpoints to export and import incidents."""

from __future__ import annotations

import hashlib
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, File, Request, Response, UploadFile
from fastapi.responses import JSONResponse, StreamingResponse

from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.incidents.records import journal, queries
from culprit.incidents.regression_bundle import write as bundle
from culprit.incidents.transfer.export import exporter
from culprit.incidents.transfer.imports import importer
from culprit.incidents.transfer.schemas import IncidentImportResponse
from culprit.infra.request_dependencies import DbDep, StoreDep

router = APIRouter(tags=["incidents"])


@router.get("/incidents/{incident_id}/export", response_class=Response)
def export_incident(
    incident_id: UUID,
    request: Request,
    db: DbDep,
    actor: CurrentActor,
    store: StoreDep,
    *,
    redacted: bool = False,
    comments: bool = False,
) -> Response:
    """Export an incident with the bytes of its runs for another Culprit (zip).

    `redacted`: names of hosts, users, addresses and paths are replaced by pseudonyms. An artifact that would be parsed
    differently then is left out, with the reason in the bundle.
    """
    incident = journal.get_incident(db, actor, incident_id)
    file = exporter.export_incident(
        db, actor, store, request.app.state.settings, incident, redacted=redacted, comments=comments
    )
    name = f"incident-{incident.number}{'-redacted' if redacted else ''}.culprit.zip"
    return StreamingResponse(
        bundle.read_chunks(file),
        media_type="application/zip",
        headers={
            "Content-Disposition": f"attachment; filename={name}",
            "X-Content-Type-Options": "nosniff",
        },
    )


@router.post("/incidents/import", status_code=201, response_model=IncidentImportResponse)
def import_incident(
    request: Request,
    db: DbDep,
    actor: CurrentActor,
    store: StoreDep,
    once: Once,
    *,
    file: Annotated[UploadFile, File(description="An exported incident")],
) -> IncidentImportResponse | JSONResponse:
    """Import a bundle as an incident. Its runs are parsed and evaluated here, and the verdicts are compared.

    Importing the same file again returns the same incident.
    """
    digest = hashlib.file_digest(file.file, "sha256").hexdigest()  # type: ignore[arg-type]
    file.file.seek(0)

    def make() -> IncidentImportResponse:
        incident = importer.import_incident(db, store, request.app.state.settings, actor, file.file)
        item = incident.incident
        return IncidentImportResponse(
            id=item.id,
            number=item.number,
            title=item.title,
            runs=len(queries.list_runs(db, item.id)),
            new=incident.new,
        )

    return once({"sha256": digest}, make)
