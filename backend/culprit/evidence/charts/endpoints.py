"""HTTP endpoints of charts."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.evidence.charts import service
from culprit.evidence.charts.schemas import ChartTypeResponse, RunChartsResponse
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.json_response import fast_json

router = APIRouter(tags=["charts"])
MAX_NAMES = 200

Ids = Annotated[
    list[Annotated[str, Query(pattern=r"^[a-z0-9-]{1,60}$")]],
    Query(default_factory=list, max_length=MAX_NAMES, description="Only these charts"),
]
Findings = Annotated[
    list[Annotated[str, Query(pattern=r"^F-[A-Z0-9-]{2,60}$")]],
    Query(default_factory=list, max_length=MAX_NAMES, description="Only charts that illustrate these rules"),
]


@router.get("/runs/{run_id}/charts", response_model=RunChartsResponse)
def get_run_charts(  # noqa: PLR0917 - one parameter per query parameter
    run_id: UUID, db: DbDep, actor: CurrentActor, ids: Ids, findings: Findings, baseline: UUID | None = None
) -> Response:
    """Draw the charts of a run: all of them, or those with these ids and those that illustrate these rules.

    Charts that can show two runs compare with `baseline`.
    """
    return fast_json(service.draw_run(db, actor, run_id, ids, findings, baseline=baseline))


@router.get("/chart-types")
def list_chart_types(actor: CurrentActor) -> list[ChartTypeResponse]:
    """List all charts with their summary, their collectors and the rules that they illustrate."""
    authorize(actor, "finding.read")
    return service.list_chart_types()
