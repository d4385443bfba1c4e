"""Pictures of runs over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from culprit.auth.dependencies import CurrentActor
from culprit.auth.policy import policy
from culprit.infra.db import Db
from culprit.kit.answers import fast_json
from culprit.visuals import service
from culprit.visuals.schemas import BuilderRead, RunVisualsRead

router = APIRouter(tags=["visuals"])
MAX_NAMES = 200

Ids = Annotated[
    list[Annotated[str, Query(pattern=r"^[a-z0-9-]{1,60}$")]],
    Query(default_factory=list, max_length=MAX_NAMES, description="Only these pictures"),
]
Findings = Annotated[
    list[Annotated[str, Query(pattern=r"^F-[A-Z0-9-]{2,60}$")]],
    Query(
        default_factory=list, max_length=MAX_NAMES, description="Only pictures that illustrate these rules"
    ),
]


@router.get("/runs/{run_id}/visuals", response_model=RunVisualsRead)
def get_run_visuals(  # noqa: PLR0917 - one parameter per query parameter
    run_id: UUID, db: Db, actor: CurrentActor, ids: Ids, findings: Findings, baseline: UUID | None = None
) -> Response:
    """What a run brought home, as pictures: all, those with these ids, and those that illustrate these rules.

    Where a picture can show two runs, that of `baseline` is the one before.
    """
    return fast_json(service.of_run(db, actor, run_id, ids, findings, baseline=baseline))


@router.get("/visuals")
def list_visuals(actor: CurrentActor) -> list[BuilderRead]:
    """Every picture that can be drawn, how to read it, what it is made of and which rules it illustrates."""
    policy(actor, "finding.read")
    return service.builders()
