"""Findings, rules, causes and thresholds over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response

from culprit.auth.dependencies import CurrentActor
from culprit.auth.policy import policy
from culprit.findings import service
from culprit.findings.schemas import (
    CauseRead,
    HostFindingsRead,
    RuleRead,
    RunFindingsRead,
    ThresholdRead,
    ThresholdSet,
)
from culprit.infra.db import Db

router = APIRouter(tags=["findings"])


@router.get("/runs/{run_id}/findings")
def get_run_findings(run_id: UUID, db: Db, actor: CurrentActor) -> RunFindingsRead:
    """What every rule said about a run, and which causes that adds up to."""
    return service.of_run(db, actor, run_id)


@router.get("/hosts/{host_id}/findings")
def get_host_findings(host_id: UUID, db: Db, actor: CurrentActor) -> HostFindingsRead | None:
    """The same of the newest run on a host; null where none was evaluated yet."""
    return service.of_host(db, actor, host_id)


@router.get("/rules")
def list_rules(actor: CurrentActor) -> list[RuleRead]:
    """Every rule with its thresholds, where they are from, and the causes that it speaks for."""
    policy(actor, "finding.read")
    return service.rules()


@router.get("/causes")
def list_causes(db: Db, actor: CurrentActor) -> list[CauseRead]:
    """Every cause that may be named, and how often that turned out right and wrong."""
    return service.causes(db, actor)


@router.get("/thresholds")
def list_thresholds(db: Db, actor: CurrentActor) -> list[ThresholdRead]:
    """The thresholds that somebody set."""
    return service.thresholds(db, actor)


@router.put("/thresholds")
def set_threshold(body: ThresholdSet, db: Db, actor: CurrentActor) -> ThresholdRead:
    """Set one for the fleet, for hosts with a label, or for one host."""
    return service.set_threshold(db, actor, body)


@router.delete("/thresholds/{threshold_id}", status_code=204)
def unset_threshold(threshold_id: UUID, db: Db, actor: CurrentActor) -> Response:
    """Take one back."""
    service.unset_threshold(db, actor, threshold_id)
    return Response(status_code=204)
