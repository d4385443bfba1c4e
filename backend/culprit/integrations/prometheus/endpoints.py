"""What other systems fetch, over HTTP, with the token of a viewer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from sqlalchemy import func, select

from culprit.auth.dependencies import CurrentActor
from culprit.auth.policy import policy
from culprit.core.rules.registry import RULES
from culprit.exports import rule_metrics
from culprit.infra.db import Db
from culprit.kit.errors import Invalid
from culprit.models import Annotation, Capture, Incident
from culprit.workflows.annotations import Teller

router = APIRouter(tags=["exports"])
LATEST_MS = 7_258_118_400_000  # the year 2200


class AnnotationRead(BaseModel):
    """One annotation, under Grafana's names; `timeEnd` is null for a moment, and for what still goes on."""

    time: int
    timeEnd: int | None
    text: str
    tags: list[str]


RuleIds = Annotated[
    list[str], Query(max_length=100, description="Ids of rules; none: those that fired on some host")
]
LabelFilter = Annotated[list[str], Query(max_length=20, description="`name:value`; all of them must hold")]
MaxAge = Annotated[
    int, Query(ge=60, le=90 * 86_400, description="Values that are older are not there, seconds")
]


@router.get("/metrics/rules", response_class=PlainTextResponse, summary="Rule values for Prometheus")
def get_rule_metrics(
    db: Db,
    actor: CurrentActor,
    rule: RuleIds = [],  # noqa: B006
    has: LabelFilter = [],  # noqa: B006
    max_age_s: MaxAge = 900,
) -> Response:
    """The newest values of up to 500 hosts in Prometheus' text format; what was not measured lately is not there."""
    unknown = next((one for one in rule if one not in RULES), None)
    if unknown is not None:
        raise Invalid("exports.no_such_rule", rule=unknown[:80])
    text = rule_metrics.exposition(db, actor, frozenset(rule), pairs_of(has), timedelta(seconds=max_age_s))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


@router.get("/grafana/annotations", summary="Annotations for Grafana")
def get_annotations(
    request: Request,
    db: Db,
    actor: CurrentActor,
    from_ms: Annotated[int, Query(alias="from", ge=0, le=LATEST_MS, description="Milliseconds since 1970")],
    to_ms: Annotated[int, Query(alias="to", ge=0, le=LATEST_MS, description="Milliseconds since 1970")],
) -> list[AnnotationRead]:
    """Captures, incidents, causes, fixes and told events of a range of time, 500 or 200 of a kind at most.

    In the form that the JSON and Infinity data sources read: one row each, times in milliseconds.
    """
    policy(actor, "incident.read")
    if to_ms < from_ms:
        raise Invalid("incident.window_backwards")
    begin, end = (datetime.fromtimestamp(one / 1000, UTC) for one in (from_ms, to_ms))
    teller = Teller(db, actor, actor.locale, request.app.state.settings.public_url)
    until = func.coalesce(Incident.window_to, Incident.resolved_at, end)
    found = [
        *teller.captures(select(Capture).where(Capture.created_at <= end, Capture.ended_at >= begin)),
        *teller.incidents(select(Incident).where(Incident.window_from <= end, until >= begin)),
        *teller.events(select(Annotation).where(Annotation.within(from_ms * 10**6, to_ms * 10**6 + 1))),
    ]
    return [
        AnnotationRead(time=one.time_ms, timeEnd=one.end_ms, text=one.text, tags=list(one.tags))
        for one in found
    ]


def pairs_of(texts: list[str]) -> list[tuple[str, str]]:
    """Labels out of `name:value`. Raises Invalid."""
    found = []
    for text in texts:
        name, colon, value = text.partition(":")
        if not name or not colon or len(name) > 63 or len(value) > 120 or "\0" in text:
            raise Invalid("host.label_filter", label=text[:100])
        found.append((name, value))
    return found
