"""Chart of the number of TCP sockets by state over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectors.contract import Sentence, Text
from culprit.domain.charts.bodies.figure import FigureTrack
from culprit.domain.charts.bodies.stacked import Stacked
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import list_lines, select_every_nth
from culprit.domain.rules.view import HostView, ViewSeries, request_view

MAX_POINTS = 120
TITLE = Text("TCP sockets by state", "TCP 套接字状态")


def build_charts(view: HostView) -> Sequence[RunChart]:
    """Return one chart of the host's sockets, without states that have none."""
    return [
        _build_chart(view, series)
        for series in view.series_of("tcp.state_count")
        if np.isfinite(series.values).any()
    ][:1]


def _build_chart(view: HostView, series: ViewSeries) -> RunChart:
    rows = select_every_nth(series.t_ns, MAX_POINTS)
    known = list_lines(series)
    most = np.nan_to_num(series.values, nan=0.0).max(axis=0)
    order = [int(at) for at in np.argsort(-most, kind="stable") if most[at] > 0]
    tracks = tuple(
        FigureTrack(
            series.axis_values[at],
            series.axis_values[at],
            "count",
            tuple(None if not np.isfinite(v) else float(v) for v in series.values[rows, at]),
            tuple(int(known[row]) for row in rows),
            series.citation,
        )
        for at in order
        if at < len(series.axis_values)
    )
    notes = (Sentence("chart.every_nth", {"n": int(rows[1])}),) if len(rows) < len(series.t_ns) else ()
    body = Stacked("count", tuple(float(t) / 1e6 for t in series.t_ns[rows]), tracks)
    return RunChart(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, notes=notes)


BUILDER = ChartBuilder(
    id="tcp-states",
    title=TITLE,
    summary=Text(
        "Each bar is one sample of all TCP sockets. Growing CLOSE-WAIT is a program that does not close; SYN-SENT are "
        "connections without an answer; many TIME-WAIT to one destination use up its port range.",
        "每根柱是一次对全部 TCP 套接字的查看。CLOSE-WAIT 增长说明程序没有关闭连接；SYN-SENT 是没有应答的连接；"
        "指向同一目的地的大量 TIME-WAIT 会耗尽端口范围。",
    ),
    reads=request_view(metrics=["tcp.state_count"]),
    collectors=("ss",),
    rules=(
        "F-NET-PORT-EXHAUSTION", "F-NET-PORT-NONE-LEFT", "F-NET-TIMEWAIT-PRESSURE", "F-NET-CONNECT-FAILS",
        "F-NET-EADDRNOTAVAIL", "F-FLAME-INET-HASH-CONNECT", "F-APP-EPIPE", "F-TCP-CLOSE-WAIT",
    ),
    build=build_charts,
)  # fmt: skip
