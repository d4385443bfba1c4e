"""Chart of the share of the local port range that each destination uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.gauges import Gauge, Gauges, Tone
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import format_address, make_figure, read_figure
from culprit.domain.rules.view import HostView, TableRow, request_view

MAX_ROWS = 16
#: connect() slows down long before the range is exhausted, because it tries ports one after another.
SLOW_PCT, FULL_PCT = 60.0, 90.0
TITLE = Text("Local ports in use, by destination", "各目的地占用的本地端口")


def build_charts(view: HostView) -> Sequence[RunChart]:
    """Return one chart of all destinations, the fullest port range first."""
    rows = [row for row in view.rows("tcp_destinations") if row.number("local_ports") is not None]
    if not rows:
        return ()
    rows.sort(key=lambda row: (-(row.number("port_use_pct") or 0.0), -(row.number("local_ports") or 0.0)))
    body = Gauges(
        Text("local ports in use", "占用的本地端口"),
        Text("ports in the range", "端口范围大小"),
        tuple(_build_gauge(row) for row in rows[:MAX_ROWS]),
    )
    left_out = max(0, len(rows) - MAX_ROWS)
    return (RunChart(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=left_out),)


def _build_gauge(row: TableRow) -> Gauge:
    used = read_figure(row, "local_ports", "count") or Figure(0.0, "count", row.citation)
    pct = read_figure(row, "port_use_pct", "pct")
    capacity = (
        make_figure(100.0 * used.value / pct.value, "count", row.citation) if pct and pct.value > 0 else None
    )
    if capacity is not None:
        capacity = replace(capacity, value=float(round(capacity.value)))
    peer = format_address(row.text("peer"), row.number("port"))
    also = (
        (Text("used", "占比"), pct),
        (Text("TIME-WAIT", "TIME-WAIT"), read_figure(row, "time_wait", "count")),
        (Text("established", "已建立"), read_figure(row, "established", "count")),
        (Text("SYN-SENT", "SYN-SENT"), read_figure(row, "syn_sent", "count")),
    )
    label = f"{row.text('source')} → {peer}"
    names = tuple((name, item) for name, item in also if item is not None)
    return Gauge(label, label, used, capacity, None, _rate_usage(pct), names)


def _rate_usage(pct: Figure | None) -> Tone:
    if pct is None:
        return "none"
    return "bad" if pct.value >= FULL_PCT else "warn" if pct.value >= SLOW_PCT else "good"


BUILDER = ChartBuilder(
    id="port-ranges",
    title=TITLE,
    summary=Text(
        "Each bar is one source and destination: how many local ports its sockets hold (TIME-WAIT included), against "
        "the range in net.ipv4.ip_local_port_range. Near the end connect() searches long in the kernel, then fails "
        "with EADDRNOTAVAIL.",
        "每条是一对源和目的地：其套接字（含 TIME-WAIT）占用的本地端口数，对照 net.ipv4.ip_local_port_range 的范围。"
        "接近上限时 connect() 在内核中长时间查找端口，之后以 EADDRNOTAVAIL 失败。",
    ),
    reads=request_view(tables=["tcp_destinations"]),
    collectors=("ss",),
    rules=(
        "F-NET-PORT-EXHAUSTION", "F-NET-PORT-NONE-LEFT", "F-NET-TIMEWAIT-PRESSURE", "F-NET-CONNECT-FAILS",
        "F-NET-EADDRNOTAVAIL", "F-FLAME-INET-HASH-CONNECT",
    ),
    build=build_charts,
)  # fmt: skip
