"""How much of the range of local ports each destination has used up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.core.rules.view import Row, View, reads
from culprit.core.visuals.bodies.figure import Figure
from culprit.core.visuals.bodies.gauges import Gauge, Gauges, Tone
from culprit.core.visuals.contract import Builder, Visual
from culprit.core.visuals.places import address, figure, finite

MAX_ROWS = 16
#: connect() slows down long before the range is used up: it tries ports one after the other.
SLOW_PCT, FULL_PCT = 60.0, 90.0
TITLE = Text("Local ports in use, by destination", "各目的地占用的本地端口")


def build(view: View) -> Sequence[Visual]:
    """One picture of all destinations, the fullest first."""
    rows = [row for row in view.rows("tcp_destinations") if row.number("local_ports") is not None]
    if not rows:
        return ()
    rows.sort(key=lambda row: (-(row.number("port_use_pct") or 0.0), -(row.number("local_ports") or 0.0)))
    body = Gauges(
        Text("local ports in use", "占用的本地端口"),
        Text("ports in the range", "端口范围大小"),
        tuple(_gauge(row) for row in rows[:MAX_ROWS]),
    )
    left_out = max(0, len(rows) - MAX_ROWS)
    return (Visual(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=left_out),)


def _gauge(row: Row) -> Gauge:
    used = figure(row, "local_ports", "count") or Figure(0.0, "count", row.cite)
    pct = figure(row, "port_use_pct", "pct")
    capacity = finite(100.0 * used.value / pct.value, "count", row.cite) if pct and pct.value > 0 else None
    if capacity is not None:
        capacity = replace(capacity, value=float(round(capacity.value)))
    peer = address(row.text("peer"), row.number("port"))
    also = (
        (Text("used", "占比"), pct),
        (Text("TIME-WAIT", "TIME-WAIT"), figure(row, "time_wait", "count")),
        (Text("established", "已建立"), figure(row, "established", "count")),
        (Text("SYN-SENT", "SYN-SENT"), figure(row, "syn_sent", "count")),
    )
    label = f"{row.text('source')} → {peer}"
    kept = tuple((name, one) for name, one in also if one is not None)
    return Gauge(label, label, used, capacity, None, _tone(pct), kept)


def _tone(pct: Figure | None) -> Tone:
    if pct is None:
        return "none"
    return "bad" if pct.value >= FULL_PCT else "warn" if pct.value >= SLOW_PCT else "good"


BUILDER = Builder(
    id="port-ranges",
    title=TITLE,
    says=Text(
        "Each bar is one source and destination: how many local ports its sockets hold (TIME-WAIT included), against "
        "the range in net.ipv4.ip_local_port_range. Near the end connect() searches long in the kernel, then fails "
        "with EADDRNOTAVAIL.",
        "每条是一对源和目的地：其套接字（含 TIME-WAIT）占用的本地端口数，对照 net.ipv4.ip_local_port_range 的范围。"
        "接近上限时 connect() 在内核中长时间查找端口，之后以 EADDRNOTAVAIL 失败。",
    ),
    reads=reads(tables=["tcp_destinations"]),
    collectors=("ss",),
    rules=(
        "F-NET-PORT-EXHAUSTION", "F-NET-PORT-NONE-LEFT", "F-NET-TIMEWAIT-PRESSURE", "F-NET-CONNECT-FAILS",
        "F-NET-EADDRNOTAVAIL", "F-FLAME-INET-HASH-CONNECT",
    ),
    build=build,
)  # fmt: skip
