"""Imports over HTTP."""

from __future__ import annotations

import hashlib
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import JSONResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.imports import service
from culprit.imports.schemas import ImportRead, KindWanted
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import Db

router = APIRouter(tags=["imports"])
ACCEPTED = (
    "perf.data, perf script text, folded stacks, a bundle, traces (Jaeger, Zipkin, OTLP), an answer of Prometheus, "
    "or what wrk, vegeta, iperf3 or JMeter measured"
)


@router.post("/imports", status_code=201, response_model=ImportRead)
def create_import(
    request: Request,
    db: Db,
    actor: CurrentActor,
    once: Once,
    *,
    file: Annotated[UploadFile, File(description=ACCEPTED)],
    kind: Annotated[KindWanted, Form()] = "auto",
    host_id: Annotated[UUID | None, Form(description="The host that it was taken on")] = None,
    name: Annotated[str | None, Form(max_length=200)] = None,
) -> ImportRead | JSONResponse:
    """Makes a capture out of a file. At most 256 MiB packed and 1 GiB unpacked (gzip, zstd)."""
    upload = service.Upload(file.file, file.filename or "", kind, host_id, name)
    told = {"sha256": _digest(upload), "kind": kind, "host_id": host_id, "name": name}
    return once(told, lambda: service.bring(db, artifact_store(), request.app.state.settings, actor, upload))


@router.post("/imports/example", status_code=201, response_model=ImportRead)
def open_example(request: Request, db: Db, actor: CurrentActor, once: Once) -> ImportRead | JSONResponse:
    """Opens the recorded example: a busy host, without a host. Opening it again gives the same capture."""
    return once({}, lambda: service.example(db, artifact_store(), request.app.state.settings, actor))


def _digest(upload: service.Upload) -> str:
    digest = hashlib.file_digest(upload.file, "sha256").hexdigest()  # type: ignore[arg-type]
    upload.file.seek(0)
    return digest
