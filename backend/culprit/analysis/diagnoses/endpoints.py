"""Diagnoses over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.diagnoses import queries, service
from culprit.diagnoses.schemas import DiagnosisCreate, DiagnosisRead
from culprit.infra.db import Db
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.models import Diagnosis

router = APIRouter(tags=["diagnoses"])


@router.post("/diagnoses", status_code=201, response_model=DiagnosisRead)
def create_diagnosis(
    body: DiagnosisCreate, db: Db, actor: CurrentActor, once: Once
) -> DiagnosisRead | JSONResponse:
    """Ask a host what is wrong with it."""
    return once(body, lambda: service.read(db, [service.create(db, actor, body)])[0])


@router.get("/diagnoses")
def list_diagnoses(
    db: Db, actor: CurrentActor, host: UUID | None = None, limit: Limit = 50, cursor: Cursor = None
) -> Page[DiagnosisRead]:
    """Diagnoses, the newest first."""
    policy(actor, "finding.read")
    return page(
        db,
        queries.diagnoses(actor, host),
        Diagnosis.number,
        limit=limit,
        cursor=cursor,
        kind=int,
        read=lambda rows: service.read(db, rows),
    )


@router.get("/diagnoses/{diagnosis_id}")
def get_diagnosis(diagnosis_id: UUID, db: Db, actor: CurrentActor) -> DiagnosisRead:
    """One diagnosis, as far as it is."""
    return service.read(db, [service.one(db, actor, diagnosis_id)])[0]


@router.post("/diagnoses/{diagnosis_id}/cancel")
def cancel_diagnosis(diagnosis_id: UUID, db: Db, actor: CurrentActor) -> DiagnosisRead:
    """Call it off."""
    return service.read(db, [service.cancel(db, actor, diagnosis_id)])[0]
