"""HTTP endpoints of imports."""

from __future__ import annotations

import hashlib
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import JSONResponse

from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.captures.imports import service
from culprit.captures.imports.schemas import ImportKind, ImportResponse
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.request_dependencies import DbDep

router = APIRouter(tags=["imports"])
ACCEPTED = (
    "perf.data, perf script text, folded stacks, a profile (pprof, speedscope, Trace Event Format, .cpuprofile, "
    "Firefox Profiler, bpftrace), a bundle, traces (Jaeger, Zipkin, OTLP), a response of Prometheus, or results of "
    "wrk, vegeta, iperf3 or JMeter"
)


@router.post("/imports", status_code=201, response_model=ImportResponse)
def create_import(
    request: Request,
    db: DbDep,
    actor: CurrentActor,
    once: Once,
    *,
    file: Annotated[UploadFile, File(description=ACCEPTED)],
    kind: Annotated[ImportKind, Form()] = "auto",
    host_id: Annotated[UUID | None, Form(description="The host on which it was recorded")] = None,
    name: Annotated[str | None, Form(max_length=200)] = None,
) -> ImportResponse | JSONResponse:
    """Create a capture from a file. At most 256 MiB compressed and 1 GiB uncompressed (gzip, zstd)."""
    upload = service.UploadedFile(file.file, file.filename or "", kind, host_id, name)
    reported = {"sha256": _compute_digest(upload), "kind": kind, "host_id": host_id, "name": name}
    return once(
        reported, lambda: service.import_file(db, artifact_store(), request.app.state.settings, actor, upload)
    )


@router.post("/imports/example", status_code=201, response_model=ImportResponse)
def open_example(
    request: Request, db: DbDep, actor: CurrentActor, once: Once
) -> ImportResponse | JSONResponse:
    """Open the recorded example of a busy host. Opening it again returns the same capture."""
    return once({}, lambda: service.import_example(db, artifact_store(), request.app.state.settings, actor))


def _compute_digest(upload: service.UploadedFile) -> str:
    digest = hashlib.file_digest(upload.file, "sha256").hexdigest()  # type: ignore[arg-type]
    upload.file.seek(0)
    return digest
