"""Draw the charts of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Text
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.registry import BUILDERS, collect_reads, draw_charts, select_builders
from culprit.domain.rules import json_form
from culprit.domain.rules.finding import Finding
from culprit.evidence.charts import queries
from culprit.evidence.charts.schemas import ChartTypeResponse
from culprit.evidence.runs.service import get_run
from culprit.evidence.view_loader import load_peer_values, load_view
from culprit.infra.artifacts.store import artifact_store
from culprit.json_types import Json
from culprit.web.schemas import LocalizedText

#: Hosts of one capture that are compared with one of them.
MAX_PEERS = 499
_FINDING = tuple(item.name for item in fields(Finding))


def draw_run(
    session: Session,
    actor: Actor,
    run_id: UUID,
    ids: Sequence[str] = (),
    rules: Sequence[str] = (),
    *,
    baseline: UUID | None = None,
) -> Json:
    """Draw the charts of a run, compared with `baseline` if given; only the data of these charts is read.

    Raises NotFoundError.
    """
    authorize(actor, "finding.read")
    result, _ = get_run(session, actor, run_id)
    builders = select_builders(ids, rules)
    only = collect_reads(builders)
    view = load_view(session, artifact_store(), [result.id], only=only)
    if baseline is not None:
        before, _ = get_run(session, actor, baseline)
        view = view.with_baseline(load_view(session, artifact_store(), [before.id], only=only))
    if only.peers:
        siblings = queries.list_peer_runs(session, actor, result, MAX_PEERS)
        view = view.with_peers(load_peer_values(session, siblings, only.peers))
    if only.findings:
        view = replace(view, findings=load_findings(session, result.id))
    charts = draw_charts(builders, view)
    return {
        "run_id": run_id,
        "charts": [chart_to_json(chart.builder, visual) for chart in charts for visual in chart.charts],
    }


def load_findings(session: Session, run_id: UUID) -> tuple[Finding, ...]:
    """Return all findings of a run, of every state; empty if it is not evaluated yet."""
    evaluation = queries.get_evaluation(session, run_id)
    if evaluation is None:
        return ()
    matched = [
        {name: getattr(finding, name) for name in _FINDING}
        for finding in queries.list_findings(session, run_id)
    ]
    return tuple(
        json_form.finding_from_json(item)
        for item in (*matched, *evaluation.not_matched, *evaluation.not_evaluated)
    )


def list_chart_types() -> list[ChartTypeResponse]:
    """Return all chart types, by id."""
    return [
        ChartTypeResponse(
            id=builder.id,
            title=LocalizedText(**_text_to_json(builder.title)),
            summary=LocalizedText(**_text_to_json(builder.summary)),
            collectors=list(builder.collectors),
            rules=list(builder.rules),
        )
        for builder in BUILDERS.values()
    ]


def _text_to_json(text: Text) -> dict[str, str]:
    return {"en": text.en, "zh": text.zh}


def chart_to_json(builder: ChartBuilder, run_chart: RunChart) -> Json:
    """Return the JSON of a chart."""
    return {
        "id": run_chart.id,
        "builder": builder.id,
        "title": _text_to_json(run_chart.title),
        "summary": _text_to_json(builder.summary),
        "subject": dict(run_chart.subject),
        "state": run_chart.state,
        "reason": json_form.sentence_to_json(run_chart.reason),
        "body": run_chart.body,
        "left_out": run_chart.left_out,
        "notes": [json_form.sentence_to_json(note) for note in run_chart.notes],
        "rules": list(builder.rules),
        "collectors": list(builder.collectors),
    }
