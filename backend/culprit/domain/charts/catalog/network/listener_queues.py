"""Chart of the accept queues of listening sockets: connections that wait for accept() against the backlog."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.gauges import Gauge, Gauges, Tone
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import format_address, read_figure
from culprit.domain.rules.view import HostView, TableRow, request_view

MAX_ROWS = 24
FILLING_PCT = 50.0
TITLE = Text("Queues of listening sockets", "监听套接字的队列")


def build_charts(view: HostView) -> Sequence[RunChart]:
    """Return one chart of all listeners, the fullest first."""
    rows = [row for row in view.rows("listeners") if row.number("queue_max") is not None]
    if not rows:
        return ()
    rows.sort(key=lambda row: (-(row.number("fill_pct") or 0.0), -(row.number("queue_max") or 0.0)))
    body = Gauges(
        Text(
            "connections that wait for accept(), in the fullest look", "等待 accept() 的连接数（最满的一次）"
        ),
        Text("backlog", "backlog（队列上限）"),
        tuple(_build_gauge(row) for row in rows[:MAX_ROWS]),
    )
    return (
        RunChart(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=max(0, len(rows) - MAX_ROWS)),
    )


def _build_gauge(row: TableRow) -> Gauge:
    value = read_figure(row, "queue_max", "count") or Figure(0.0, "count", row.citation)
    also = (
        (Text("samples with a full queue", "队列已满的采样次数"), read_figure(row, "full_samples", "count")),
        (Text("samples", "采样次数"), read_figure(row, "samples", "count")),
    )
    process = row.text("process")
    place = format_address(row.text("address"), row.number("port"))
    return Gauge(
        place,
        f"{place} {process}".strip(),
        value,
        read_figure(row, "backlog", "count"),
        read_figure(row, "queue_min", "count"),
        _rate_queue(row),
        tuple((label, item) for label, item in also if item is not None),
    )


def _rate_queue(row: TableRow) -> Tone:
    """Return the rating; `none` if the backlog is unknown (/proc/net/tcp has none)."""
    fill = read_figure(row, "fill_pct", "pct")
    if fill is None:
        return "none"
    if fill.value >= 100.0:
        return "bad"
    return "warn" if fill.value >= FILLING_PCT else "good"


BUILDER = ChartBuilder(
    id="listener-queues",
    title=TITLE,
    summary=Text(
        "Each bar is one listener: connections that waited for accept() in the fullest sample, against its backlog. "
        "A full bar means that the kernel threw connections away, and clients waited 1 s, 3 s or 7 s. The mark shows "
        "the minimum of the queue: a queue that never empties is a service that does not accept.",
        "每条是一个监听套接字：最满的一次中有多少连接在等待 accept()，以及队列上限。"
        "写满意味着内核丢弃连接，客户端要等 1、3 或 7 秒。"
        "刻度是队列从未低于的值：一直不空的队列说明服务没有在 accept。",
    ),
    reads=request_view(tables=["listeners"]),
    collectors=("ss_listen",),
    rules=("F-NET-LISTEN-OVERFLOW", "F-NET-ACCEPT-STANDING", "F-NET-QUEUE-STANDS", "F-NET-BACKLOG-SMALL"),
    build=build_charts,
)
