"""Runs and artifacts over HTTP. Raw bytes leave only as attachments that no browser interprets."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse

from culprit.auth.dependencies import CurrentActor
from culprit.evidence import service
from culprit.evidence.schemas import EventRead, LinesRead, RunRead, SeriesRead
from culprit.infra.artifact_lines import MAX_COUNT
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import Db
from culprit.kit.answers import fast_json
from culprit.kit.unit_of_work import release_connection

router = APIRouter(tags=["evidence"])


@router.get("/runs/{run_id}", response_model=RunRead)
def get_run(run_id: UUID, db: Db, actor: CurrentActor) -> Response:
    """All about one run: collectors, costs, clock, artifacts, profiles, tables."""
    return fast_json(service.read_run(db, actor, run_id))


@router.get("/runs/{run_id}/series", response_model=list[SeriesRead])
def get_series(run_id: UUID, db: Db, actor: CurrentActor) -> Response:
    """Every series of a run in numbers."""
    return fast_json(service.read_series(db, actor, run_id))


@router.get("/runs/{run_id}/events", response_model=list[EventRead])
def get_events(run_id: UUID, db: Db, actor: CurrentActor) -> Response:
    """What happened during a run."""
    return fast_json(service.read_events(db, actor, run_id))


@router.get("/artifacts/{artifact_id}/content", response_class=FileResponse)
def get_content(artifact_id: UUID, db: Db, actor: CurrentActor) -> FileResponse:
    """The bytes as they are stored."""
    artifact, name = service.artifact(db, actor, artifact_id)
    release_connection(db)  # what S3 holds is fetched before it is sent
    shown = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    return FileResponse(
        service.path(artifact_store(), artifact),
        media_type="application/octet-stream",
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(shown)}",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
            "X-Content-SHA256": artifact.sha256,
        },
    )


@router.get("/artifacts/{artifact_id}/lines", response_model=LinesRead)
def get_lines(
    artifact_id: UUID,
    db: Db,
    actor: CurrentActor,
    *,
    first: Annotated[int, Query(alias="from", ge=1, le=1 << 31)] = 1,
    count: Annotated[int, Query(ge=1, le=MAX_COUNT)] = 200,
) -> Response:
    """A window of its lines as text; each is cut at 4 KiB."""
    artifact, _ = service.artifact(db, actor, artifact_id)
    release_connection(db)
    return fast_json(service.lines(artifact_store(), artifact, first, count))
