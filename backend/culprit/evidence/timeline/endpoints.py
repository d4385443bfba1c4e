"""HTTP endpoints of timelines. The requested width limits the size of a response, not the amount of stored data."""

from __future__ import annotations

import json
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response

from culprit.accounts.dependencies import CurrentActor
from culprit.domain.series.tracks import MAX_WIDTH
from culprit.evidence.timeline import service
from culprit.evidence.timeline.schemas import SourceLineResponse, TimelineOverviewResponse, TimelineResponse
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.request_dependencies import DbDep
from culprit.web.errors import InvalidRequestError
from culprit.web.http.json_response import fast_json

router = APIRouter(tags=["timeline"])
Ns = Annotated[int | None, Query(ge=0, le=1 << 62, description="UTC nanoseconds")]


@router.get("/hosts/{host_id}/timeline", response_model=TimelineResponse)
def get_timeline(
    host_id: UUID,
    db: DbDep,
    actor: CurrentActor,
    *,
    from_ns: Ns = None,
    to_ns: Ns = None,
    width: Annotated[int, Query(ge=1, le=MAX_WIDTH, description="How many pixels a track is wide")] = 1200,
    metrics: Annotated[str | None, Query(max_length=8000, description="Ids, separated by commas")] = None,
    agg: Annotated[Literal["mean", "max", "min"], Query(description="What matrices show of a cell")] = "mean",
) -> Response:
    """Return the tracks, captures and events of a host in a time range, by default in the range of all its data."""
    requested = [name for name in metrics.split(",") if name] if metrics is not None else None
    return fast_json(
        service.build_timeline(
            db, actor, host_id, from_ns=from_ns, to_ns=to_ns, width=width, metrics=requested, agg=agg
        )
    )


@router.get("/hosts/{host_id}/timeline/overview", response_model=TimelineOverviewResponse)
def get_timeline_overview(host_id: UUID, db: DbDep, actor: CurrentActor) -> Response:
    """Return the tracks of a host with their time ranges, and its runs."""
    return fast_json(service.build_overview(db, actor, host_id))


@router.get("/citations", response_model=SourceLineResponse)
def get_citation(
    *,
    host_id: UUID,
    metric: Annotated[str, Query(max_length=200)],
    t_ns: Annotated[int, Query(ge=0, le=1 << 62)],
    db: DbDep,
    actor: CurrentActor,
    labels: Annotated[str, Query(max_length=4000, description="A JSON object of texts")] = "{}",
) -> Response:
    """Return the line of the artifact that a value was read from."""
    try:
        parsed = json.loads(labels)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict) or not all(isinstance(value, str) for value in parsed.values()):
        raise InvalidRequestError("timeline.labels_unreadable")
    return fast_json(
        service.find_source_line(
            db, artifact_store(), actor, host_id, metric=metric, labels=parsed, t_ns=t_ns
        )
    )
