"""HTTP endpoints of findings, rules, causes and thresholds."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.analysis.findings import service
from culprit.analysis.findings.schemas import (
    CauseResponse,
    HostFindingsResponse,
    RuleResponse,
    RunFindingsResponse,
    ThresholdOverrideRequest,
    ThresholdOverrideResponse,
)
from culprit.infra.request_dependencies import DbDep

router = APIRouter(tags=["findings"])


@router.get("/runs/{run_id}/findings")
def get_run_findings(run_id: UUID, db: DbDep, actor: CurrentActor) -> RunFindingsResponse:
    """Return the findings of a run and the causes that follow from them."""
    return service.get_run_findings(db, actor, run_id)


@router.get("/hosts/{host_id}/findings")
def get_host_findings(host_id: UUID, db: DbDep, actor: CurrentActor) -> HostFindingsResponse | None:
    """Return the findings of the newest complete run of a host, else of the newest one; null without any."""
    return service.find_host_findings(db, actor, host_id)


@router.get("/rules")
def list_rules(actor: CurrentActor) -> list[RuleResponse]:
    """List all rules with their thresholds, sources and causes."""
    authorize(actor, "finding.read")
    return service.list_rules()


@router.get("/causes")
def list_causes(db: DbDep, actor: CurrentActor) -> list[CauseResponse]:
    """List all causes, and how often incidents confirmed and rejected each."""
    return service.list_causes(db, actor)


@router.get("/thresholds")
def list_thresholds(db: DbDep, actor: CurrentActor) -> list[ThresholdOverrideResponse]:
    """List the overridden thresholds."""
    return service.list_overrides(db, actor)


@router.put("/thresholds")
def set_threshold(
    body: ThresholdOverrideRequest, db: DbDep, actor: CurrentActor
) -> ThresholdOverrideResponse:
    """Override a threshold for all hosts, for hosts with a label, or for one host."""
    return service.set_threshold(db, actor, body)


@router.delete("/thresholds/{threshold_id}", status_code=204)
def reset_threshold(threshold_id: UUID, db: DbDep, actor: CurrentActor) -> Response:
    """Remove an override. The default applies again."""
    service.reset_threshold(db, actor, threshold_id)
    return Response(status_code=204)
