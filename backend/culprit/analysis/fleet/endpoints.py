"""The fleet over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from culprit.auth.dependencies import CurrentActor
from culprit.fleet import peers, read, service
from culprit.fleet.schemas import FindingsMatrixRead, PeersRead, UseRead
from culprit.infra.db import Db
from culprit.kit.answers import unless_known
from culprit.kit.errors import Invalid

router = APIRouter(tags=["fleet"])
LabelFilter = Annotated[list[str], Query(max_length=20, description="`name:value`; all of them must hold")]
GroupBy = Annotated[
    str, Query(max_length=63, description="The label that makes hosts peers; empty: the usual one")
]
MeasureId = Annotated[str, Query(max_length=200, description="One measure, for every host of each group")]
#: The fleet is polled: who sends the ETag of the last answer in If-None-Match is told only what is new.
SAME: dict[int | str, dict[str, Any]] = {
    304: {"description": "Nothing changed since the answer with that ETag."}
}
Within = Annotated[
    int, Query(ge=60, le=90 * 86_400, description="Looks older than this are left out, seconds")
]


@router.get("/fleet/use", response_model=UseRead, summary="USE grid", responses=SAME)
def get_use(request: Request, db: Db, actor: CurrentActor, has: LabelFilter = []) -> Response:  # noqa: B006
    """Host × resource × (utilisation, saturation, errors): the worst that rules last said, for up to 500 hosts."""
    glance = read.glance(db, actor, _labels(has))
    return unless_known(request, glance.tag("use"), lambda: service.use(db, glance))


@router.get(
    "/fleet/peers", response_model=PeersRead, summary="Which host is unlike the others", responses=SAME
)
def get_peers(  # noqa: PLR0917
    request: Request,
    db: Db,
    actor: CurrentActor,
    label: GroupBy = "",
    measure: MeasureId = "",
    within_s: Within = 86_400,
    has: LabelFilter = [],  # noqa: B006
) -> Response:
    """Groups of hosts with the same label, and the measures in which one of them is unlike the others."""
    within = timedelta(seconds=within_s)
    glance = read.glance(db, actor, _labels(has))
    tag = glance.tag("peers", label, measure, within_s, peers.fresh_looks(glance, within))
    return unless_known(
        request, tag, lambda: peers.peers(db, glance, label=label, measure=measure, within=within)
    )


@router.get("/fleet/findings", response_model=FindingsMatrixRead, summary="What fired where", responses=SAME)
def get_findings(request: Request, db: Db, actor: CurrentActor, has: LabelFilter = []) -> Response:  # noqa: B006
    """Host × rule, for every rule that fired somewhere."""
    glance = read.glance(db, actor, _labels(has))
    return unless_known(request, glance.tag("findings"), lambda: service.findings(db, glance))


def _labels(texts: list[str]) -> list[tuple[str, str]]:
    """Raises Invalid for what is not `name:value`."""
    found = []
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or not name:
            raise Invalid("host.label_filter", label=text[:100])
        found.append((name, value))
    return found
