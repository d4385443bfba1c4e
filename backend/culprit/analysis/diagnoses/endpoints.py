"""HTTP endpoints of diagnoses."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.analysis.diagnoses import queries, service
from culprit.analysis.diagnoses.schemas import DiagnosisCreate, DiagnosisResponse
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(tags=["diagnoses"])


@router.post("/diagnoses", status_code=201, response_model=DiagnosisResponse)
def create_diagnosis(
    body: DiagnosisCreate, db: DbDep, actor: CurrentActor, once: Once
) -> DiagnosisResponse | JSONResponse:
    """Start a diagnosis of a host: staged captures that name likely causes."""
    return once(body, lambda: service.build_responses(db, [service.create_diagnosis(db, actor, body)])[0])


@router.get("/diagnoses")
def list_diagnoses(
    db: DbDep, actor: CurrentActor, host: UUID | None = None, limit: Limit = 50, cursor: Cursor = None
) -> Page[DiagnosisResponse]:
    """List diagnoses, the newest first."""
    authorize(actor, "finding.read")
    return build_page(
        db,
        queries.select_diagnoses(actor, host),
        Diagnosis.number,
        limit=limit,
        cursor=cursor,
        kind=int,
        read=lambda rows: service.build_responses(db, rows),
    )


@router.get("/diagnoses/{diagnosis_id}")
def get_diagnosis(diagnosis_id: UUID, db: DbDep, actor: CurrentActor) -> DiagnosisResponse:
    """Return a diagnosis with the stages and causes so far."""
    return service.build_responses(db, [service.get_diagnosis(db, actor, diagnosis_id)])[0]


@router.post("/diagnoses/{diagnosis_id}/cancel")
def cancel_diagnosis(diagnosis_id: UUID, db: DbDep, actor: CurrentActor) -> DiagnosisResponse:
    """Cancel a diagnosis and its running capture."""
    return service.build_responses(db, [service.cancel_diagnosis(db, actor, diagnosis_id)])[0]
