"""What other systems fetch, over HTTP, with the token of a viewer."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from culprit.auth.dependencies import CurrentActor
from culprit.core.rules.registry import RULES
from culprit.exports import rule_metrics
from culprit.infra.db import Db
from culprit.kit.errors import Invalid

router = APIRouter(tags=["exports"])
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


def pairs_of(texts: list[str]) -> list[tuple[str, str]]:
    """Labels out of `name:value`. Raises Invalid."""
    found = []
    for text in texts:
        name, colon, value = text.partition(":")
        if not name or not colon or len(name) > 63 or len(value) > 120 or "\0" in text:
            raise Invalid("host.label_filter", label=text[:100])
        found.append((name, value))
    return found
