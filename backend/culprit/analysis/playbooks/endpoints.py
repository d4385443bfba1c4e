"""Playbooks over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from culprit.auth.dependencies import CurrentActor
from culprit.infra.db import Db
from culprit.playbooks import service
from culprit.playbooks.schemas import ChainRead, CheckRead, PlaybookCheck, PlaybookRead, PlaybookSummary

router = APIRouter(tags=["playbooks"])


@router.get("/playbooks")
def list_playbooks(actor: CurrentActor) -> list[PlaybookSummary]:
    """Cases, methods, snippets and collections of cards."""
    return service.summaries(actor)


@router.post("/playbooks/check")
def check_playbook(body: PlaybookCheck, actor: CurrentActor) -> CheckRead:
    """Look whether a playbook is sound, without keeping it."""
    return service.check(actor, body.text)


@router.get("/playbooks/{playbook_id}")
def get_playbook(playbook_id: str, actor: CurrentActor) -> PlaybookRead:
    """One of them in full."""
    return service.read(actor, playbook_id)


@router.get("/playbooks/{playbook_id}/chain")
def try_playbook(playbook_id: str, run_id: UUID, db: Db, actor: CurrentActor) -> ChainRead:
    """Try it against a run: a verdict for each step, what is missing, and what to look at next."""
    return service.try_on(db, actor, playbook_id, run_id)
