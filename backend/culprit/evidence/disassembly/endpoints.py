"""HTTP endpoints of disassembled functions."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from culprit.accounts.dependencies import CurrentActor
from culprit.evidence.disassembly import service
from culprit.evidence.disassembly.schemas import DisassemblyCreate, DisassemblyResponse
from culprit.infra.request_dependencies import DbDep

router = APIRouter(tags=["profiles"])


@router.post("/profiles/{profile_id}/disassemblies", status_code=202)
def create_disassembly(
    profile_id: UUID, body: DisassemblyCreate, db: DbDep, actor: CurrentActor
) -> DisassemblyResponse:
    """Return the instructions of a function with the samples of each. A worker builds them once, in seconds."""
    row = service.create_disassembly(db, actor, profile_id, body)
    return service.build_disassembly_response(db, actor, row)


@router.get("/disassemblies/{disassembly_id}")
def get_disassembly(disassembly_id: UUID, db: DbDep, actor: CurrentActor) -> DisassemblyResponse:
    """Return a function; its listing is complete when `state` is `ready`."""
    row = service.get_disassembly(db, actor, disassembly_id)
    return service.build_disassembly_response(db, actor, row)


@router.post("/disassemblies/{disassembly_id}/fetch", status_code=202)
def fetch_disassembly_code(disassembly_id: UUID, db: DbDep, actor: CurrentActor) -> DisassemblyResponse:
    """Fetch the code of the function from the host of the profile, in one short session."""
    row = service.request_fetch(db, actor, disassembly_id)
    return service.build_disassembly_response(db, actor, row)
