"""Services over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.infra.db import Db
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.models import Service
from culprit.services import queries, read, service
from culprit.services.schemas import ServiceCreate, ServiceRead, ServiceUpdate, SourceCheck

router = APIRouter(tags=["services"])


@router.get("/services", summary="Services")
def list_services(
    db: Db, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[ServiceRead]:
    """Those that could run on a visible host, newest first."""
    policy(actor, "service.read")

    def shown(rows: Sequence[Service]) -> list[ServiceRead]:
        return read.services(db, actor, rows)

    return page(db, queries.service_list(actor), Service.id, limit=limit, cursor=cursor, read=shown)


@router.post("/services", status_code=201, response_model=ServiceRead, summary="Declare a service")
def create_service(
    body: ServiceCreate, db: Db, actor: CurrentActor, once: Once
) -> ServiceRead | JSONResponse:
    """The address of its Prometheus must be on the allow-list."""

    def make() -> ServiceRead:
        row = service.create(db, actor, body)
        db.flush()
        return read.service(db, actor, row)

    return once(body.model_dump(mode="json", exclude=service.SECRETS), make)


@router.get("/services/{service_id}", summary="One service")
def get_service(service_id: UUID, db: Db, actor: CurrentActor) -> ServiceRead:
    """With what it does not measure."""
    policy(actor, "service.read")
    return read.service(db, actor, queries.service(db, actor, service_id))


@router.patch("/services/{service_id}", summary="Change a service")
def update_service(service_id: UUID, body: ServiceUpdate, db: Db, actor: CurrentActor) -> ServiceRead:
    """What is not mentioned stays."""
    return read.service(db, actor, service.update(db, actor, service_id, body))


@router.delete("/services/{service_id}", status_code=204, summary="Forget a service")
def remove_service(service_id: UUID, db: Db, actor: CurrentActor) -> None:
    """What was captured of it stays."""
    service.remove(db, actor, service_id)


@router.post("/services/{service_id}/check", summary="Try its source")
def check_service(service_id: UUID, db: Db, actor: CurrentActor) -> SourceCheck:
    """Every query over the last five minutes, or the reason why there is no answer."""
    return service.check_source(db, actor, service_id)
