"""HTTP endpoints of runs and artifacts. Raw bytes are sent only as attachments, which browsers do not interpret."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse

from culprit.accounts.dependencies import CurrentActor
from culprit.evidence.runs import service
from culprit.evidence.runs.schemas import (
    ArtifactLinesResponse,
    RunEventResponse,
    RunResponse,
    SeriesSummaryResponse,
)
from culprit.infra.artifacts.lines import MAX_COUNT
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import release_connection
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.json_response import fast_json

router = APIRouter(tags=["evidence"])


@router.get("/runs/{run_id}", response_model=RunResponse)
def get_run(run_id: UUID, db: DbDep, actor: CurrentActor) -> Response:
    """Return one run: collectors, costs, clock, artifacts, profiles, tables."""
    return fast_json(service.build_run_response(db, actor, run_id))


@router.get("/runs/{run_id}/series", response_model=list[SeriesSummaryResponse])
def get_series(run_id: UUID, db: DbDep, actor: CurrentActor) -> Response:
    """Return a summary of every series of a run."""
    return fast_json(service.list_series(db, actor, run_id))


@router.get("/runs/{run_id}/events", response_model=list[RunEventResponse])
def get_events(run_id: UUID, db: DbDep, actor: CurrentActor) -> Response:
    """Return the events of a run."""
    return fast_json(service.list_events(db, actor, run_id))


@router.get("/artifacts/{artifact_id}/content", response_class=FileResponse)
def get_content(artifact_id: UUID, db: DbDep, actor: CurrentActor) -> FileResponse:
    """Download an artifact as it is stored."""
    artifact, name = service.get_artifact(db, actor, artifact_id)
    release_connection(db)  # a bucket object is downloaded before it is sent, which takes time
    displayed = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    return FileResponse(
        service.get_artifact_path(artifact_store(), artifact),
        media_type="application/octet-stream",
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(displayed)}",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
            "X-Content-SHA256": artifact.sha256,
        },
    )


@router.get("/artifacts/{artifact_id}/lines", response_model=ArtifactLinesResponse)
def get_lines(
    artifact_id: UUID,
    db: DbDep,
    actor: CurrentActor,
    *,
    first: Annotated[int, Query(alias="from", ge=1, le=1 << 31)] = 1,
    count: Annotated[int, Query(ge=1, le=MAX_COUNT)] = 200,
) -> Response:
    """Return a range of lines of an artifact as text; each line is cut at 4 KiB."""
    artifact, _ = service.get_artifact(db, actor, artifact_id)
    release_connection(db)
    return fast_json(service.read_lines(artifact_store(), artifact, first, count))
