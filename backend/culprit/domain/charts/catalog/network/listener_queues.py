"""How full the queues of listening sockets were: connections that wait for accept() against the backlog."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.core.rules.view import Row, View, reads
from culprit.core.visuals.bodies.figure import Figure
from culprit.core.visuals.bodies.gauges import Gauge, Gauges, Tone
from culprit.core.visuals.contract import Builder, Visual
from culprit.core.visuals.places import address, figure

MAX_ROWS = 24
FILLING_PCT = 50.0
TITLE = Text("Queues of listening sockets", "监听套接字的队列")


def build(view: View) -> Sequence[Visual]:
    """One picture of all listeners, the fullest first."""
    rows = [row for row in view.rows("listeners") if row.number("queue_max") is not None]
    if not rows:
        return ()
    rows.sort(key=lambda row: (-(row.number("fill_pct") or 0.0), -(row.number("queue_max") or 0.0)))
    body = Gauges(
        Text(
            "connections that wait for accept(), in the fullest look", "等待 accept() 的连接数（最满的一次）"
        ),
        Text("backlog", "backlog（队列上限）"),
        tuple(_gauge(row) for row in rows[:MAX_ROWS]),
    )
    return (
        Visual(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=max(0, len(rows) - MAX_ROWS)),
    )


def _gauge(row: Row) -> Gauge:
    value = figure(row, "queue_max", "count") or Figure(0.0, "count", row.cite)
    also = (
        (Text("looks that found it full", "发现队列已满的次数"), figure(row, "full_looks", "count")),
        (Text("looks", "查看次数"), figure(row, "looks", "count")),
    )
    process = row.text("process")
    place = address(row.text("address"), row.number("port"))
    return Gauge(
        place,
        f"{place} {process}".strip(),
        value,
        figure(row, "backlog", "count"),
        figure(row, "queue_min", "count"),
        _tone(row),
        tuple((label, one) for label, one in also if one is not None),
    )


def _tone(row: Row) -> Tone:
    """Nothing is judged where the backlog is not known (/proc/net/tcp has none)."""
    fill = figure(row, "fill_pct", "pct")
    if fill is None:
        return "none"
    if fill.value >= 100.0:
        return "bad"
    return "warn" if fill.value >= FILLING_PCT else "good"


BUILDER = Builder(
    id="listener-queues",
    title=TITLE,
    says=Text(
        "Each bar is one listener: how many connections waited for accept() in the fullest look, against its backlog. "
        "A full bar means that the kernel threw connections away, and clients waited 1 s, 3 s or 7 s. The mark shows "
        "what the queue never fell below: a queue that stands is a service that does not accept.",
        "每条是一个监听套接字：最满的一次中有多少连接在等待 accept()，以及队列上限。"
        "写满意味着内核丢弃连接，客户端要等 1、3 或 7 秒。"
        "刻度是队列从未低于的值：一直不空的队列说明服务没有在 accept。",
    ),
    reads=reads(tables=["listeners"]),
    collectors=("ss_listen",),
    rules=("F-NET-LISTEN-OVERFLOW", "F-NET-ACCEPT-STANDING", "F-NET-QUEUE-STANDS", "F-NET-BACKLOG-SMALL"),
    build=build,
)
