"""HTTP endpoints of the fleet."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from culprit.accounts.dependencies import CurrentActor
from culprit.analysis.fleet import peers, responses, service
from culprit.analysis.fleet.schemas import FindingsMatrixResponse, PeersResponse, UseGridResponse
from culprit.infra.request_dependencies import DbDep
from culprit.web.errors import InvalidRequestError
from culprit.web.http.answer_cache import AnswerCache

router = APIRouter(tags=["fleet"])
LabelFilter = Annotated[list[str], Query(max_length=20, description="`name:value`; all of them must match")]
GroupBy = Annotated[
    str, Query(max_length=63, description="The label that makes hosts peers; empty: the default")
]
MeasureId = Annotated[str, Query(max_length=200, description="One measure, for every host of each group")]
#: Clients poll the fleet. With the last ETag in If-None-Match, an unchanged fleet is answered with 304.
NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "Nothing changed since the answer with that ETag."}
}
#: An answer for 500 hosts has about 2.5 MB. Its tag has all that it is built from, the visible hosts included.
ANSWERS = AnswerCache(max_bytes=32 << 20)
Within = Annotated[
    int, Query(ge=60, le=90 * 86_400, description="Runs older than this are left out, seconds")
]


@router.get("/fleet/use", response_model=UseGridResponse, summary="USE grid", responses=NOT_MODIFIED)
def get_use(request: Request, db: DbDep, actor: CurrentActor, has: LabelFilter = []) -> Response:  # noqa: B006
    """Return the USE grid of up to 500 hosts: the worst of the newest findings by host, resource and USE category."""
    snapshot = responses.load_snapshot(db, actor, _parse_labels(has))
    return ANSWERS.not_modified_or(
        request, snapshot.build_etag("use"), lambda: service.build_use_grid(db, snapshot)
    )


@router.get(
    "/fleet/peers", response_model=PeersResponse, summary="Outliers among peers", responses=NOT_MODIFIED
)
def get_peers(  # noqa: PLR0917
    request: Request,
    db: DbDep,
    actor: CurrentActor,
    label: GroupBy = "",
    measure: MeasureId = "",
    within_s: Within = 86_400,
    has: LabelFilter = [],  # noqa: B006
) -> Response:
    """Return groups of hosts with the same label, and the measures in which at least one host is an outlier."""
    within = timedelta(seconds=within_s)
    snapshot = responses.load_snapshot(db, actor, _parse_labels(has))
    tag = snapshot.build_etag("peers", label, measure, within_s, peers.count_fresh_runs(snapshot, within))
    return ANSWERS.not_modified_or(
        request, tag, lambda: peers.compare_peers(db, snapshot, label=label, measure=measure, within=within)
    )


@router.get(
    "/fleet/findings",
    response_model=FindingsMatrixResponse,
    summary="Findings matrix",
    responses=NOT_MODIFIED,
)
def get_findings(request: Request, db: DbDep, actor: CurrentActor, has: LabelFilter = []) -> Response:  # noqa: B006
    """Return the matrix of hosts and rules, for every rule that matched on at least one host."""
    snapshot = responses.load_snapshot(db, actor, _parse_labels(has))
    return ANSWERS.not_modified_or(
        request, snapshot.build_etag("findings"), lambda: service.build_findings_matrix(db, snapshot)
    )


def _parse_labels(texts: list[str]) -> list[tuple[str, str]]:
    """Return label filters. Raises InvalidRequestError for text that is not `name:value`."""
    results = []
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or not name:
            raise InvalidRequestError("host.label_filter", label=text[:100])
        results.append((name, value))
    return results
