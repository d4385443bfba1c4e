"""A plan as a shell script for hosts that cannot be reached: carried there by hand, its output is imported."""

from __future__ import annotations

from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Query, Response

from collectors.bundle import Job, Limits, deadline_for, standalone
from collectors.plans import PLANS, scaled
from collectors.registry import COLLECTORS
from culprit.auth.dependencies import CurrentActor
from culprit.auth.policy import policy
from culprit.kit.errors import Invalid

router = APIRouter(tags=["catalogue"])
MAX_SECONDS = 600
MEDIA_TYPE = "text/x-shellscript"


@router.get(
    "/bundle",
    summary="A plan as a script to carry by hand",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
def get_bundle(
    actor: CurrentActor,
    plan: Annotated[str, Query(max_length=40)] = "triage",
    seconds: Annotated[int | None, Query(ge=1, le=MAX_SECONDS)] = None,
) -> Response:
    """Its output becomes a run when it is imported. Who may run the plan may have its script."""
    chosen = PLANS.get(plan)
    if chosen is None:
        raise Invalid("capture.plan_unknown", plan=plan)
    policy(actor, f"capture.{chosen.tier}")
    jobs = [Job.of(COLLECTORS[one.id], one.seconds) for one in scaled(chosen, seconds).collectors]
    # A run by hand has no server to hear from: only its deadline ends it.
    text = standalone(jobs, Limits(run=str(uuid4()), deadline_s=deadline_for(jobs), silence_s=0))
    headers = {"Content-Disposition": 'attachment; filename="culprit-bundle.sh"'}
    return Response(text, media_type=MEDIA_TYPE, headers=headers)
