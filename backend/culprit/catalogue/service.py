"""The catalogues as they are sent."""

from __future__ import annotations

from collectors.contract import Collector, Text, Way
from collectors.metrics import CATALOGUE, GROUPS, Metric
from collectors.plans import PLANS, Plan
from collectors.registry import COLLECTORS
from culprit.catalogue.schemas import (
    CollectorRead,
    CostRead,
    LaneRead,
    MetricRead,
    NeedsRead,
    OptionRead,
    PlannedRead,
    PlanRead,
    TextRead,
    WayRead,
)


def collectors() -> list[CollectorRead]:
    """Every collector."""
    return [_collector(one) for one in COLLECTORS.values()]


def metrics() -> list[MetricRead]:
    """Every metric, in lane order."""
    return [_metric(one) for one in CATALOGUE.values()]


def plans() -> list[PlanRead]:
    """Every plan."""
    return [_plan(one) for one in PLANS.values()]


def _text(text: Text) -> TextRead:
    return TextRead(en=text.en, zh=text.zh)


def _way(way: Way) -> WayRead:
    needs = way.needs
    return WayRead(
        name=way.name,
        shows=way.shows,
        needs=NeedsRead(
            tools=list(needs.tools),
            files=list(needs.files),
            root=needs.root,
            perf=needs.perf,
            target=needs.target,
            mend=needs.mend,
        ),
    )


def _collector(one: Collector) -> CollectorRead:
    cost = one.cost
    return CollectorRead(
        id=one.id,
        title=_text(one.title),
        why=_text(one.why),
        tier=one.tier,
        mandatory=one.mandatory,
        exclusive=one.exclusive,
        on_demand=one.on_demand,
        options=[
            OptionRead(
                name=o.name, pattern=o.pattern, title=_text(o.title), default=o.default, required=o.required
            )
            for o in one.options
        ],
        ways=[_way(way) for way in one.ways],
        seconds_max=one.seconds_max,
        max_bytes=one.max_bytes,
        cost=CostRead(cpu_pct=cost.cpu_pct, bytes_per_s=cost.bytes_per_s, note=_text(cost.note)),
        yields=list(one.yields),
        parser_version=one.parser_version,
    )


def _metric(one: Metric) -> MetricRead:
    lane = one.lane
    return MetricRead(
        id=one.id,
        unit=one.unit,
        labels=list(one.labels),
        axis=one.axis,
        title=_text(one.title),
        meaning=_text(one.meaning),
        lane=LaneRead(
            group=lane.group, group_title=_text(GROUPS[lane.group]), order=lane.order, kind=lane.kind
        ),
    )


def _plan(one: Plan) -> PlanRead:
    return PlanRead(
        id=one.id,
        title=_text(one.title),
        why=_text(one.why),
        tier=one.tier,
        seconds=one.seconds,
        total_seconds=one.total_seconds,
        collectors=[PlannedRead(id=item.id, seconds=item.seconds) for item in one.collectors],
    )
