"""Chart of rate, errors and latency of each route of a service."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.domain.charts.bodies.stages import StageColumn, StageRow, Stages
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import read_figure
from culprit.domain.rules.view import HostView, TableRow, request_view

MAX_ROUTES = 20
TITLE = Text("Rate, errors and latency by route", "各路由的请求率、错误与延迟")
_COLUMNS = (
    ("rate", "per_s", StageColumn("rate", Text("requests", "请求"), "none")),
    ("errors_share", "pct", StageColumn("errors_share", Text("errors", "错误"), "less")),
    ("p50", "ms", StageColumn("p50", Text("p50", "p50"), "less")),
    ("p90", "ms", StageColumn("p90", Text("p90", "p90"), "less")),
    ("p99", "ms", StageColumn("p99", Text("p99", "p99"), "less")),
    ("max", "ms", StageColumn("max", Text("max", "最大"), "less")),
)


def build_charts(view: HostView) -> Sequence[RunChart]:
    """Return one table of all routes: `*` (the total) first, then the busiest."""
    rows = sorted(
        view.rows("routes"), key=lambda row: (row.text("route") != "*", -(row.number("requests") or 0.0))
    )
    listed = rows[:MAX_ROUTES]
    columns = [
        column
        for column in _COLUMNS
        if any(read_figure(row, column[0], column[1]) is not None for row in listed)
    ]
    if not columns:
        return ()
    route_rows = tuple(_build_row(row, columns) for row in listed)
    body = Stages(Text("route", "路由"), tuple(column for _, _, column in columns), route_rows)
    left_out = len(rows) - len(listed)
    return (RunChart(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=left_out),)


def _build_row(row: TableRow, columns: Sequence[tuple[str, str, StageColumn]]) -> StageRow:
    return StageRow(row.text("route")[:120], tuple(read_figure(row, name, unit) for name, unit, _ in columns))


BUILDER = ChartBuilder(
    id="routes",
    title=TITLE,
    summary=Text(
        "One row per route of the access log; * is all routes. If p99 is far above p50, the route waits occasionally. "
        "A route that is always slow does too much work. A route that is fast and fails, fails early.",
        "每行是访问日志中的一个路由，* 为全部路由。p99 远高于 p50，说明该路由偶尔在等待；始终慢的路由工作量过大；"
        "快速失败的路由是提前失败。",
    ),
    reads=request_view(tables=["routes"]),
    collectors=("app_metrics",),
    rules=("F-APP-P99", "F-APP-ERR", "F-APP-NON2XX", "F-APP-TIMEOUT-MODE"),
    build=build_charts,
)
