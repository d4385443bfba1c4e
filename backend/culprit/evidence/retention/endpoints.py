"""Storage over HTTP: what there is, how long it is kept, and whether rows and bytes fit together."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from culprit.auth.dependencies import CurrentActor
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import Db
from culprit.storage import service
from culprit.storage.schemas import (
    Foreseen,
    LookAsk,
    LookRead,
    OrphansGone,
    PolicyRead,
    PolicySet,
    StorageRead,
)

router = APIRouter(tags=["storage"])


@router.get("/storage")
def read_storage(db: Db, actor: CurrentActor) -> StorageRead:
    """What uses the space by kind, day and host as it was measured last, whereto it goes, and how long what is kept."""
    return service.read(db, artifact_store(), actor)


@router.patch("/storage/policy")
def set_policy(body: PolicySet, db: Db, actor: CurrentActor) -> list[PolicyRead]:
    """How long a kind is kept from now on. Deletion begins at once; neither limit: for ever."""
    return service.set_policy(db, actor, body)


@router.post("/storage/policy/preview")
def preview_policy(body: PolicySet, db: Db, actor: CurrentActor) -> Foreseen:
    """What these limits would delete, and what they would leave because somebody cites it. Changes nothing."""
    return service.foresee(db, actor, body)


@router.post("/storage/looks", status_code=202)
def ask_for_look(body: LookAsk, db: Db, actor: CurrentActor) -> LookRead:
    """Has a worker measure the storage, or hold rows against bytes. Asked twice, it is done once."""
    return service.ask(db, actor, body)


@router.get("/storage/looks/{look_id}")
def read_look(look_id: UUID, db: Db, actor: CurrentActor) -> LookRead:
    """How far it is, and its outcome."""
    return service.look(db, actor, look_id)


@router.post("/storage/mend")
def mend_storage(db: Db, actor: CurrentActor) -> OrphansGone:
    """Deletes bytes that no row names."""
    return service.mend(db, artifact_store(), actor)
