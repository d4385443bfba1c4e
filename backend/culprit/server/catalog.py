"""What every page of the interface needs to name things: rules, causes, metrics, collectors and plans, at once."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import lru_cache

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.analysis.findings import service as findings
from culprit.analysis.findings.schemas import CauseResponse, RuleResponse
from culprit.captures.catalog import service as captures
from culprit.captures.catalog.schemas import CollectorResponse, MetricResponse, PlanResponse
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.json_response import compute_etag, is_known

router = APIRouter(tags=["catalog"])
#: zlib level. The answer is compressed once per process, not per request.
_LEVEL = 9


class CatalogResponse(BaseModel):
    """The rules, causes, metrics, collectors and plans of this version, with their titles in all languages."""

    rules: list[RuleResponse]
    causes: list[CauseResponse]
    metrics: list[MetricResponse]
    collectors: list[CollectorResponse]
    plans: list[PlanResponse]


@dataclass(frozen=True, slots=True)
class EncodedCatalog:
    """A catalog as JSON, plain and compressed with gzip, and its weak ETag."""

    plain: bytes
    packed: bytes
    tag: str


@router.get(
    "/catalog",
    response_model=CatalogResponse,
    responses={304: {"description": "Nothing changed since the answer with that ETag."}},
)
def get_catalog(request: Request, db: DbDep, actor: CurrentActor) -> Response:
    """Return all rules, causes, metrics, collectors and plans.

    It changes with the version, and with the outcomes of causes. Clients keep it with its ETag.
    """
    authorize(actor, "capture.read")
    catalog = _encode_catalog(tuple(sorted(findings.count_outcomes(db, actor).items())))
    headers = {"ETag": catalog.tag, "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if is_known(request, catalog.tag):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(catalog.packed, headers=headers, media_type="application/json")
    return Response(catalog.plain, headers=headers, media_type="application/json")


@lru_cache(maxsize=2)
def _encode_catalog(outcomes: tuple[tuple[tuple[str, bool], int], ...]) -> EncodedCatalog:
    """Return the catalog with these outcomes of causes, as items of `findings.count_outcomes`."""
    catalog = CatalogResponse(
        rules=findings.list_rules(),
        causes=findings.build_causes(dict(outcomes)),
        metrics=captures.list_metrics(),
        collectors=captures.list_collectors(),
        plans=captures.list_plans(),
    )
    plain = catalog.model_dump_json().encode()
    return EncodedCatalog(plain, gzip.compress(plain, _LEVEL, mtime=0), compute_etag(plain))
