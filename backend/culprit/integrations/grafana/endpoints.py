"""HTTP endpoint for Grafana, authenticated with the token of a viewer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.infra.request_dependencies import DbDep
from culprit.integrations.grafana import queries
from culprit.integrations.grafana.annotation_builder import AnnotationBuilder
from culprit.integrations.grafana.schemas import AnnotationRow
from culprit.web.errors import InvalidRequestError

router = APIRouter(tags=["exports"])
LATEST_MS = 7_258_118_400_000  # the year 2200


@router.get("/grafana/annotations", summary="Annotations for Grafana")
def get_annotations(
    request: Request,
    db: DbDep,
    actor: CurrentActor,
    from_ms: Annotated[int, Query(alias="from", ge=0, le=LATEST_MS, description="Milliseconds since 1970")],
    to_ms: Annotated[int, Query(alias="to", ge=0, le=LATEST_MS, description="Milliseconds since 1970")],
) -> list[AnnotationRow]:
    """List captures, incidents, causes, fixes and reported events of a time range.

    Up to 500 captures and events and 200 incidents are returned.

    The form is that of the JSON and Infinity data sources: one row each, times in milliseconds.
    """
    authorize(actor, "incident.read")
    if to_ms < from_ms:
        raise InvalidRequestError("incident.window_backwards")
    begin, end = (datetime.fromtimestamp(item / 1000, UTC) for item in (from_ms, to_ms))
    builder = AnnotationBuilder(db, actor, actor.locale, request.app.state.settings.public_url)
    annotations = [
        *builder.captures(queries.select_captures(begin, end)),
        *builder.incidents(queries.select_incidents(begin, end)),
        *builder.events(queries.select_events(from_ms, to_ms)),
    ]
    return [
        AnnotationRow(time=item.time_ms, timeEnd=item.end_ms, text=item.text, tags=list(item.tags))
        for item in annotations
    ]
