"""HTTP endpoints of services."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.hosts.services import queries, responses, service
from culprit.hosts.services.schemas import ServiceCreate, ServiceResponse, ServiceUpdate, SourceCheckResponse
from culprit.infra.models.hosts.service import Service
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(tags=["services"])


@router.get("/services", summary="Services")
def list_services(
    db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[ServiceResponse]:
    """List the services that can run on a visible host, newest first."""
    authorize(actor, "service.read")

    def build_rows(rows: Sequence[Service]) -> list[ServiceResponse]:
        return responses.build_services(db, actor, rows)

    return build_page(
        db, queries.select_services(actor), Service.id, limit=limit, cursor=cursor, read=build_rows
    )


@router.post("/services", status_code=201, response_model=ServiceResponse, summary="Declare a service")
def create_service(
    body: ServiceCreate, db: DbDep, actor: CurrentActor, once: Once
) -> ServiceResponse | JSONResponse:
    """Create a service. The address of its Prometheus must be on the network allow-list."""

    def make() -> ServiceResponse:
        row = service.create_service(db, actor, body)
        db.flush()
        return responses.build_service(db, actor, row)

    return once(body.model_dump(mode="json", exclude=service.SECRETS), make)


@router.get("/services/{service_id}", summary="One service")
def get_service(service_id: UUID, db: DbDep, actor: CurrentActor) -> ServiceResponse:
    """Return a service, including what it does not measure."""
    authorize(actor, "service.read")
    return responses.build_service(db, actor, queries.get_service(db, actor, service_id))


@router.patch("/services/{service_id}", summary="Change a service")
def update_service(service_id: UUID, body: ServiceUpdate, db: DbDep, actor: CurrentActor) -> ServiceResponse:
    """Change the given fields."""
    return responses.build_service(db, actor, service.update_service(db, actor, service_id, body))


@router.delete("/services/{service_id}", status_code=204, summary="Forget a service")
def delete_service(service_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Delete a service; its captures are kept."""
    service.delete_service(db, actor, service_id)


@router.post("/services/{service_id}/check", summary="Try its source")
def check_service(service_id: UUID, db: DbDep, actor: CurrentActor) -> SourceCheckResponse:
    """Run every query over the last five minutes, and return the results or the reason of a failure."""
    return service.check_source(db, actor, service_id)
