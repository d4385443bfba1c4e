"""Timelines over HTTP. Answers are bounded by the asked width, not by what is stored."""

from __future__ import annotations

import json
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response

from culprit.auth.dependencies import CurrentActor
from culprit.core.timeline import MAX_WIDTH
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import Db
from culprit.kit.answers import fast_json
from culprit.kit.errors import Invalid
from culprit.timeline import service
from culprit.timeline.schemas import CiteRead, OverviewRead, TimelineRead

router = APIRouter(tags=["timeline"])
Ns = Annotated[int | None, Query(ge=0, le=1 << 62, description="UTC nanoseconds")]


@router.get("/hosts/{host_id}/timeline", response_model=TimelineRead)
def read_timeline(
    host_id: UUID,
    db: Db,
    actor: CurrentActor,
    *,
    from_ns: Ns = None,
    to_ns: Ns = None,
    width: Annotated[int, Query(ge=1, le=MAX_WIDTH, description="How many pixels a lane is wide")] = 1200,
    metrics: Annotated[str | None, Query(max_length=8000, description="Ids, separated by commas")] = None,
    agg: Annotated[Literal["mean", "max", "min"], Query(description="What matrices show of a cell")] = "mean",
) -> Response:
    """Lanes, captures and events in a range of time; without a range, of all time."""
    wanted = [name for name in metrics.split(",") if name] if metrics is not None else None
    return fast_json(
        service.timeline(
            db, actor, host_id, from_ns=from_ns, to_ns=to_ns, width=width, metrics=wanted, agg=agg
        )
    )


@router.get("/hosts/{host_id}/timeline/overview", response_model=OverviewRead)
def read_overview(host_id: UUID, db: Db, actor: CurrentActor) -> Response:
    """Which lanes a host has, since when, and its runs."""
    return fast_json(service.overview(db, actor, host_id))


@router.get("/cite", response_model=CiteRead)
def read_citation(
    *,
    host_id: UUID,
    metric: Annotated[str, Query(max_length=200)],
    t_ns: Annotated[int, Query(ge=0, le=1 << 62)],
    db: Db,
    actor: CurrentActor,
    labels: Annotated[str, Query(max_length=4000, description="A JSON object of texts")] = "{}",
) -> Response:
    """The line of the artifact that a value was read from."""
    try:
        parsed = json.loads(labels)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict) or not all(isinstance(value, str) for value in parsed.values()):
        raise Invalid("timeline.labels_unreadable")
    return fast_json(
        service.cite(db, artifact_store(), actor, host_id, metric=metric, labels=parsed, t_ns=t_ns)
    )
