"""Chart of the own time of each operation along the call path, from imported trace spans."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.domain.charts.bodies.path import CallPath, Hop
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import read_figure
from culprit.domain.rules.view import HostView, TableRow, request_view

MAX_HOPS = 12
TITLE = Text("Where the response time goes", "响应时间花在哪里")


def build_charts(view: HostView) -> Sequence[RunChart]:
    """Return one strip of the operations with most own time, the outermost first."""
    rows = [row for row in view.rows("spans_by_operation") if row.number("self_share_pct") is not None]
    rows.sort(key=lambda row: -(row.number("self_share_pct") or 0.0))
    hops = [
        _build_hop(row) for row in sorted(rows[:MAX_HOPS], key=lambda row: -(row.number("p50_ms") or 0.0))
    ]
    if not any(hops):
        return ()
    body = CallPath(tuple(hop for hop in hops if hop is not None))
    left_out = max(0, len(rows) - MAX_HOPS)
    return (RunChart(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=left_out),)


def _build_hop(row: TableRow) -> Hop | None:
    share = read_figure(row, "self_share_pct", "pct")
    if share is None:
        return None
    return Hop(
        row.text("service"),
        row.text("operation"),
        share,
        read_figure(row, "self_p50_ms", "ms"),
        read_figure(row, "p50_ms", "ms"),
        read_figure(row, "p99_ms", "ms"),
        read_figure(row, "count", "count"),
        read_figure(row, "errors", "count"),
    )


BUILDER = ChartBuilder(
    id="call-path",
    title=TITLE,
    summary=Text(
        "The strip is all the time of the traced requests; each piece is what one operation spent itself, without "
        "what it called. The widest piece is where to look, however slow its callers seem.",
        "整条是被追踪请求的全部时间；每一段是一个操作自身花费的时间，不含它调用的部分。"
        "最宽的一段才是该查的地方，无论它的调用者看上去多慢。",
    ),
    reads=request_view(tables=["spans_by_operation"]),
    collectors=("import.otlp", "import.jaeger", "import.zipkin"),
    rules=("F-APP-SPAN-DOMINANT", "F-APP-P99", "F-APP-TIMEOUT-MODE"),
    build=build_charts,
)
