"""Registry of chart builders: the `BUILDER` of each module below `catalog`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from culprit.domain.charts import catalog
from culprit.domain.charts.chart import MAX_PER_BUILDER, ChartBuilder, ChartResult, RunChart
from culprit.domain.rules.view import HostView, ViewRequest

__all__ = ["BUILDERS", "collect_reads", "draw_charts", "select_builders"]


def _load_builders() -> Mapping[str, ChartBuilder]:
    """Return the builders by ID, sorted by ID. Raises ValueError for a duplicate ID."""
    builders: dict[str, ChartBuilder] = {}
    for module in pkgutil.walk_packages(catalog.__path__, f"{catalog.__name__}."):
        if module.ispkg:
            continue
        builder: ChartBuilder = importlib.import_module(module.name).BUILDER
        if builder.id in builders:
            raise ValueError(f"{builder.id} is defined twice")
        builders[builder.id] = builder
    return MappingProxyType(dict(sorted(builders.items())))


BUILDERS: Mapping[str, ChartBuilder] = _load_builders()


def select_builders(ids: Iterable[str], rules: Iterable[str]) -> list[ChartBuilder]:
    """Return the builders with these IDs and those that illustrate these rules; without either, all builders."""
    builder_ids, rule_ids = frozenset(ids), frozenset(rules)
    if not builder_ids and not rule_ids:
        return list(BUILDERS.values())
    return [
        builder
        for builder in BUILDERS.values()
        if builder.id in builder_ids or rule_ids.intersection(builder.rules)
    ]


def collect_reads(builders: Iterable[ChartBuilder]) -> ViewRequest:
    """Return the union of the data that these builders read."""
    view_request = ViewRequest()
    for builder in builders:
        view_request |= builder.reads
    return view_request


def draw_charts(builders: Iterable[ChartBuilder], view: HostView) -> list[ChartResult]:
    """Return the charts of each builder for the view; a builder without data returns the reason."""
    return [ChartResult(builder, _draw_charts(builder, view)) for builder in builders]


def _draw_charts(builder: ChartBuilder, view: HostView) -> tuple[RunChart, ...]:
    run_charts: dict[str, RunChart] = {}
    for item in builder.build(view):
        run_charts.setdefault(item.id, item)
    built = tuple(run_charts.values())[:MAX_PER_BUILDER]
    return built or (_make_empty_chart(builder, view),)


def _make_empty_chart(builder: ChartBuilder, view: HostView) -> RunChart:
    """Return a chart without a body, with the reason for the missing data."""
    reason = view.missing_reason(builder.collectors)
    return RunChart(builder.id, builder.id, builder.title, state="no_data", reason=reason)
