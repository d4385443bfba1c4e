"""Muted findings, and how causes turned out, over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.incidents import mutes
from culprit.incidents.given import MuteAdd
from culprit.incidents.schemas import MuteRead, OutcomeRead
from culprit.infra.db import Db

router = APIRouter(tags=["incidents"])


@router.get("/mutes")
def list_mutes(
    db: Db, actor: CurrentActor, *, host: UUID | None = None, over: bool = False
) -> list[MuteRead]:
    """Rules that are muted on hosts; with `over` those whose time has ended too."""
    return mutes.listed(db, actor, host, over=over)


@router.post("/mutes", status_code=201, response_model=MuteRead)
def add_mute(body: MuteAdd, db: Db, actor: CurrentActor, once: Once) -> MuteRead | JSONResponse:
    """A rule is known to fire on a host: until then it counts for no verdict there."""
    return once(body, lambda: mutes.add(db, actor, body))


@router.delete("/mutes/{mute_id}", status_code=204)
def remove_mute(mute_id: UUID, db: Db, actor: CurrentActor) -> Response:
    """It counts again."""
    mutes.remove(db, actor, mute_id)
    return Response(status_code=204)


@router.get("/causes/outcomes")
def list_outcomes(db: Db, actor: CurrentActor) -> list[OutcomeRead]:
    """How often each cause was named and was it, and how often it was not."""
    return mutes.outcomes(db, actor)
