"""Build the responses of the catalog."""

from __future__ import annotations

from collectors.contract import CollectionMethod, Collector, Text
from collectors.metrics.registry import GROUPS, METRICS, Metric
from collectors.plans import PLANS, Plan
from collectors.registry import COLLECTORS
from culprit.captures.catalog.schemas import (
    CollectionMethodResponse,
    CollectionNeedsResponse,
    CollectorCostResponse,
    CollectorOptionResponse,
    CollectorResponse,
    MetricResponse,
    PlannedCollectorResponse,
    PlanResponse,
    TrackStyleResponse,
)
from culprit.web.schemas import LocalizedText


def list_collectors() -> list[CollectorResponse]:
    """Return every collector."""
    return [_build_collector(collector) for collector in COLLECTORS.values()]


def list_metrics() -> list[MetricResponse]:
    """Return every metric, in the order of the tracks."""
    return [_build_metric(metric) for metric in METRICS.values()]


def list_plans() -> list[PlanResponse]:
    """Return every plan."""
    return [_build_plan(plan) for plan in PLANS.values()]


def _build_text(text: Text) -> LocalizedText:
    return LocalizedText(en=text.en, zh=text.zh)


def _build_method(method: CollectionMethod) -> CollectionMethodResponse:
    needs = method.needs
    return CollectionMethodResponse(
        name=method.name,
        command=method.command_line,
        needs=CollectionNeedsResponse(
            tools=list(needs.tool_names),
            files=list(needs.files),
            root=needs.root,
            perf=needs.perf,
            target=needs.target,
            remedy=needs.remedy,
        ),
    )


def _build_collector(collector: Collector) -> CollectorResponse:
    cost = collector.cost
    return CollectorResponse(
        id=collector.id,
        title=_build_text(collector.title),
        why=_build_text(collector.why),
        tier=collector.tier,
        mandatory=collector.mandatory,
        exclusive=collector.exclusive,
        on_demand=collector.on_demand,
        options=[
            CollectorOptionResponse(
                name=o.name,
                pattern=o.pattern,
                title=_build_text(o.title),
                default=o.default,
                required=o.required,
            )
            for o in collector.options
        ],
        methods=[_build_method(method) for method in collector.methods],
        seconds_max=collector.seconds_max,
        max_bytes=collector.max_bytes,
        cost=CollectorCostResponse(
            cpu_pct=cost.cpu_pct, bytes_per_s=cost.bytes_per_s, note=_build_text(cost.note)
        ),
        yields=list(collector.yields),
        parser_version=collector.parser_version,
    )


def _build_metric(metric: Metric) -> MetricResponse:
    track = metric.track
    return MetricResponse(
        id=metric.id,
        unit=metric.unit,
        labels=list(metric.labels),
        axis=metric.axis,
        title=_build_text(metric.title),
        meaning=_build_text(metric.meaning),
        track=TrackStyleResponse(
            group=track.group,
            group_title=_build_text(GROUPS[track.group]),
            order=track.order,
            kind=track.kind,
        ),
    )


def _build_plan(plan: Plan) -> PlanResponse:
    return PlanResponse(
        id=plan.id,
        title=_build_text(plan.title),
        why=_build_text(plan.why),
        tier=plan.tier,
        seconds=plan.seconds,
        total_seconds=plan.total_seconds,
        collectors=[PlannedCollectorResponse(id=item.id, seconds=item.seconds) for item in plan.collectors],
    )
