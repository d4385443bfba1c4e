"""HTTP endpoint of the differences between two selections."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from culprit.accounts.dependencies import CurrentActor
from culprit.evidence.differences import service
from culprit.evidence.differences.schemas import DifferencesResponse
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.json_response import fast_json

router = APIRouter(tags=["timeline"])
Ns = Annotated[int, Query(ge=0, le=1 << 62, description="UTC nanoseconds")]


@router.get("/differences", response_model=DifferencesResponse)
def get_differences(
    db: DbDep,
    actor: CurrentActor,
    *,
    before_host: Annotated[UUID, Query(description="ID of the host of the first selection")],
    before_from_ns: Ns,
    before_to_ns: Ns,
    after_host: Annotated[UUID, Query(description="ID of the host of the second selection")],
    after_from_ns: Ns,
    after_to_ns: Ns,
    limit: Annotated[int, Query(ge=1, le=service.MAX_SERIES, description="Series to list")] = 100,
) -> Response:
    """Rank everything that differs between two selections: series, events and configuration.

    A selection is a time range of a host: two ranges of one host, two runs, or two hosts. Series are ranked by steps:
    the change of the mean, in units of their spread in the first selection.
    """
    before = service.TimeSelection(before_host, before_from_ns, before_to_ns)
    after = service.TimeSelection(after_host, after_from_ns, after_to_ns)
    return fast_json(service.find_differences(db, actor, before, after, limit))
