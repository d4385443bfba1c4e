"""HTTP endpoints of playbooks."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from culprit.accounts.dependencies import CurrentActor
from culprit.analysis.playbooks import service
from culprit.analysis.playbooks.schemas import (
    DryRunResponse,
    PlaybookCheckRequest,
    PlaybookCheckResponse,
    PlaybookResponse,
    PlaybookSummary,
)
from culprit.infra.request_dependencies import DbDep

router = APIRouter(tags=["playbooks"])


@router.get("/playbooks")
def list_playbooks(actor: CurrentActor) -> list[PlaybookSummary]:
    """List the playbook catalog."""
    return service.list_playbooks(actor)


@router.post("/playbooks/check")
def check_playbook(body: PlaybookCheckRequest, actor: CurrentActor) -> PlaybookCheckResponse:
    """Validate a playbook without storing it."""
    return service.check_playbook(actor, body.text)


@router.get("/playbooks/{playbook_id}")
def get_playbook(playbook_id: str, actor: CurrentActor) -> PlaybookResponse:
    """Return one playbook."""
    return service.get_playbook(actor, playbook_id)


@router.get("/playbooks/{playbook_id}/dry-run")
def dry_run_playbook(playbook_id: str, run_id: UUID, db: DbDep, actor: CurrentActor) -> DryRunResponse:
    """Evaluate a playbook on a run: a verdict per step, the gaps and the next step."""
    return service.dry_run(db, actor, playbook_id, run_id)
