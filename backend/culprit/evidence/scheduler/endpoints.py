"""HTTP endpoints of scheduler events."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response

from culprit.accounts.dependencies import CurrentActor
from culprit.domain.series.tracks import MAX_WIDTH
from culprit.evidence.scheduler import service
from culprit.evidence.scheduler.schemas import SchedulerResponse, SchedulerTracksResponse
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import release_connection
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.json_response import fast_json

router = APIRouter(tags=["profiles"])
ProfileId = Annotated[UUID | None, Query(description="Which of several recordings of the run")]


@router.get("/runs/{run_id}/sched", response_model=SchedulerResponse)
def get_scheduler(
    run_id: UUID,
    db: DbDep,
    actor: CurrentActor,
    *,
    profile: ProfileId = None,
    from_ns: Annotated[int | None, Query(ge=0, le=1 << 62)] = None,
    to_ns: Annotated[int | None, Query(ge=0, le=1 << 62)] = None,
) -> Response:
    """Return the run time and scheduling delays of every task of a run, or of a time range of it."""
    run, schedule = service.get_scheduler_profile(db, actor, run_id, profile)
    release_connection(db)
    return fast_json(
        service.summarize_schedule(artifact_store(), run, schedule, from_ns=from_ns, to_ns=to_ns)
    )


@router.get("/runs/{run_id}/sched/tracks", response_model=SchedulerTracksResponse)
def get_scheduler_tracks(
    run_id: UUID,
    db: DbDep,
    actor: CurrentActor,
    *,
    profile: ProfileId = None,
    by: Literal["cpu", "thread"] = "cpu",
    tid: Annotated[int | None, Query(ge=1, le=1 << 31)] = None,
    from_ns: Annotated[int | None, Query(ge=0, le=1 << 62)] = None,
    to_ns: Annotated[int | None, Query(ge=0, le=1 << 62)] = None,
    width: Annotated[int, Query(ge=1, le=MAX_WIDTH)] = 1200,
) -> Response:
    """Return tracks by CPU or by thread, with at most about two segments per pixel, and the wake-ups.

    `tid` limits wake-ups to those of this thread, and lists the thread and its wakers first.
    """
    _, schedule = service.get_scheduler_profile(db, actor, run_id, profile)
    release_connection(db)
    drawing = service.TrackRange(from_ns=from_ns, to_ns=to_ns, width=width)
    return fast_json(service.build_tracks(artifact_store(), schedule, drawing, by=by, tid=tid))
