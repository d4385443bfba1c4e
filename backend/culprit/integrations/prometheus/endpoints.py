"""HTTP endpoint for Prometheus, authenticated with the token of a viewer."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from culprit.accounts.dependencies import CurrentActor
from culprit.domain.rules.registry import RULES
from culprit.infra.request_dependencies import DbDep
from culprit.integrations.prometheus import rule_metrics
from culprit.web.errors import InvalidRequestError

router = APIRouter(tags=["exports"])


RuleIds = Annotated[
    list[str], Query(max_length=100, description="Ids of rules; none: those that matched on some host")
]
LabelFilter = Annotated[list[str], Query(max_length=20, description="`name:value`; all of them must hold")]
MaxAge = Annotated[
    int, Query(ge=60, le=90 * 86_400, description="Values that are older are not there, seconds")
]


@router.get("/metrics/rules", response_class=PlainTextResponse, summary="Rule values for Prometheus")
def get_rule_metrics(
    db: DbDep,
    actor: CurrentActor,
    rule: RuleIds = [],  # noqa: B006
    has: LabelFilter = [],  # noqa: B006
    max_age_s: MaxAge = 900,
) -> Response:
    """Return the latest values of up to 500 hosts in Prometheus' text format, without outdated ones."""
    unknown = next((item for item in rule if item not in RULES), None)
    if unknown is not None:
        raise InvalidRequestError("exports.no_such_rule", rule=unknown[:80])
    text = rule_metrics.render_exposition(
        db, actor, frozenset(rule), parse_label_filter(has), timedelta(seconds=max_age_s)
    )
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def parse_label_filter(texts: list[str]) -> list[tuple[str, str]]:
    """Parse labels in the form `name:value`. Raises InvalidRequestError."""
    results = []
    for text in texts:
        name, colon, value = text.partition(":")
        if not name or not colon or len(name) > 63 or len(value) > 120 or "\0" in text:
            raise InvalidRequestError("host.label_filter", label=text[:100])
        results.append((name, value))
    return results
