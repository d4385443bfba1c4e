"""The catalogues over HTTP; they are the same for everybody who has an account."""

from __future__ import annotations

from fastapi import APIRouter

from culprit.auth.dependencies import CurrentActor
from culprit.auth.policy import policy
from culprit.catalogue import service
from culprit.catalogue.schemas import CollectorRead, MetricRead, PlanRead

router = APIRouter(tags=["catalogue"])


@router.get("/collectors")
def list_collectors(actor: CurrentActor) -> list[CollectorRead]:
    """What can be collected, what it needs and what it costs."""
    policy(actor, "capture.read")
    return service.collectors()


@router.get("/metric-catalogue")
def list_metrics(actor: CurrentActor) -> list[MetricRead]:
    """What can be measured, and how a timeline draws it."""
    policy(actor, "capture.read")
    return service.metrics()


@router.get("/plans")
def list_plans(actor: CurrentActor) -> list[PlanRead]:
    """Named sets of collectors."""
    policy(actor, "capture.read")
    return service.plans()
