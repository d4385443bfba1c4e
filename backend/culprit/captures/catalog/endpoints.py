"""HTTP endpoints of the catalog: collectors, plans, metrics and the capture script. All accounts see the same."""

from __future__ import annotations

from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Query, Response

from collectors.plans import PLANS, scale_plan
from collectors.registry import COLLECTORS
from collectors.runner.program import CollectorJob, RunnerLimits, build_standalone, compute_deadline_s
from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.captures.catalog import service
from culprit.captures.catalog.schemas import CollectorResponse, MetricResponse, PlanResponse
from culprit.web.errors import InvalidRequestError

MAX_SECONDS = 600
MEDIA_TYPE = "text/x-shellscript"
router = APIRouter(tags=["catalog"])


@router.get("/catalog/collectors")
def list_collectors(actor: CurrentActor) -> list[CollectorResponse]:
    """List the collectors with what they need and what they cost."""
    authorize(actor, "capture.read")
    return service.list_collectors()


@router.get("/catalog/metrics")
def list_metrics(actor: CurrentActor) -> list[MetricResponse]:
    """List the metrics and how a timeline shows them."""
    authorize(actor, "capture.read")
    return service.list_metrics()


@router.get("/catalog/plans")
def list_plans(actor: CurrentActor) -> list[PlanResponse]:
    """List the plans."""
    authorize(actor, "capture.read")
    return service.list_plans()


@router.get(
    "/catalog/capture-script",
    summary="Get a plan as a shell script",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
def get_capture_script(
    actor: CurrentActor,
    plan: Annotated[str, Query(max_length=40)] = "triage",
    seconds: Annotated[int | None, Query(ge=1, le=MAX_SECONDS)] = None,
) -> Response:
    """Build a plan as a shell script for a host that Culprit cannot reach. Import its output to get a run.

    Requires the permission to run the plan.
    """
    chosen = PLANS.get(plan)
    if chosen is None:
        raise InvalidRequestError("capture.plan_unknown", plan=plan, plans=", ".join(PLANS))
    authorize(actor, f"capture.{chosen.tier}")
    jobs = [
        CollectorJob.of(COLLECTORS[item.id], item.seconds) for item in scale_plan(chosen, seconds).collectors
    ]
    # This run gets no heartbeats of a server: only its deadline ends it.
    text = build_standalone(
        jobs, RunnerLimits(run=str(uuid4()), deadline_s=compute_deadline_s(jobs), silence_s=0)
    )
    headers = {"Content-Disposition": 'attachment; filename="culprit-capture.sh"'}
    return Response(text, media_type=MEDIA_TYPE, headers=headers)
