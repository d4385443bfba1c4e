"""Chart of the stages of a load test: responses, errors and latency of each stage."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.domain.charts.bodies.stages import StageColumn, StageRow, Stages
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import read_figure
from culprit.domain.rules.view import HostView, TableRow, request_view

MAX_STAGES = 40
TITLE = Text("The stages of the load test", "压测各阶段")
_COLUMNS = (
    ("rps", "per_s", StageColumn("rps", Text("answers", "应答"), "more")),
    ("goodput_per_s", "per_s", StageColumn("goodput_per_s", Text("good answers", "成功应答"), "more")),
    ("errors", "count", StageColumn("errors", Text("without an answer", "无应答"), "less")),
    ("timeouts", "count", StageColumn("timeouts", Text("timed out", "超时"), "less")),
    ("non2xx_pct", "pct", StageColumn("non2xx_pct", Text("not 2xx", "非 2xx"), "less")),
    ("p50_ms", "ms", StageColumn("p50_ms", Text("p50", "p50"), "less")),
    ("p99_ms", "ms", StageColumn("p99_ms", Text("p99", "p99"), "less")),
    ("mbit_per_s", "mbit_per_s", StageColumn("mbit_per_s", Text("throughput", "吞吐"), "more")),
    ("retransmits", "count", StageColumn("retransmits", Text("retransmits", "重传"), "less")),
    ("jitter_ms", "ms", StageColumn("jitter_ms", Text("jitter", "抖动"), "less")),
    ("lost_pct", "pct", StageColumn("lost_pct", Text("lost", "丢失"), "less")),
)


def build_charts(view: HostView) -> Sequence[RunChart]:
    """Return one table of all stages in their order, without columns that no stage has."""
    rows = list(view.rows("load_test"))
    listed = rows[:MAX_STAGES]
    columns = [
        column
        for column in _COLUMNS
        if any(read_figure(row, column[0], column[1]) is not None for row in listed)
    ]
    if not columns:
        return ()
    stage_rows = tuple(_build_row(row, columns) for row in listed)
    body = Stages(Text("stage", "阶段"), tuple(column for _, _, column in columns), stage_rows)
    left_out = len(rows) - len(listed)
    return (RunChart(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=left_out),)


def _build_row(row: TableRow, columns: Sequence[tuple[str, str, StageColumn]]) -> StageRow:
    cells = tuple(read_figure(row, name, unit) for name, unit, _ in columns)
    return StageRow(row.text("stage"), cells, read_figure(row, "seconds", "s"))


BUILDER = ChartBuilder(
    id="load-stages",
    title=TITLE,
    summary=Text(
        "One row per stage, bars to the scale of their column. The knee is where answers stop growing with the load "
        "and p99 begins to; good answers that fall while answers do not are fast failures.",
        "每行是一个阶段，条形按各列比例。拐点是应答不再随负载增长而 p99 开始上升之处；"
        "应答不降而成功应答下降，是快速失败。",
    ),
    reads=request_view(tables=["load_test"]),
    collectors=("import.wrk", "import.vegeta", "import.jmeter", "import.iperf3"),
    rules=("F-APP-P99", "F-APP-ERR", "F-APP-NON2XX", "F-NET-CONNECT-FAILS"),
    build=build_charts,
)
