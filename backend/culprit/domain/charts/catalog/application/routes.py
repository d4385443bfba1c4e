"""Rate, errors and latency of a service, route by route."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.core.rules.view import Row, View, reads
from culprit.core.visuals.bodies.stages import StageColumn, StageRow, Stages
from culprit.core.visuals.contract import Builder, Visual
from culprit.core.visuals.places import figure

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


def build(view: View) -> Sequence[Visual]:
    """One table of all routes; `*`, which is all of them together, stands first, then the busiest."""
    rows = sorted(
        view.rows("routes"), key=lambda row: (row.text("route") != "*", -(row.number("requests") or 0.0))
    )
    shown = rows[:MAX_ROUTES]
    columns = [one for one in _COLUMNS if any(figure(row, one[0], one[1]) is not None for row in shown)]
    if not columns:
        return ()
    made = tuple(_route(row, columns) for row in shown)
    body = Stages(Text("route", "路由"), tuple(column for _, _, column in columns), made)
    return (Visual(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=len(rows) - len(shown)),)


def _route(row: Row, columns: Sequence[tuple[str, str, StageColumn]]) -> StageRow:
    return StageRow(row.text("route")[:120], tuple(figure(row, name, unit) for name, unit, _ in columns))


BUILDER = Builder(
    id="routes",
    title=TITLE,
    says=Text(
        "One row per route as the access log tells it, * being all. A route whose p99 stands far from its p50 waits "
        "for something now and then; one that is slow throughout does too much; one that is quick and fails, fails "
        "early.",
        "按访问日志每行一个路由，* 为全部。p99 远离 p50 的路由偶尔在等待什么；始终慢的路由做得太多；"
        "又快又失败的路由是提前失败。",
    ),
    reads=reads(tables=["routes"]),
    collectors=("app_metrics",),
    rules=("F-APP-P99", "F-APP-ERR", "F-APP-NON2XX", "F-APP-TIMEOUT-MODE"),
    build=build,
)
